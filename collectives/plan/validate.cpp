#include "collectives/plan/validate.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <set>

#include "collectives/plan/pack.h"
#include "flatbuffers/util.h"

namespace stretto::plan {
namespace {

__attribute__((format(printf, 1, 2))) std::string text(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

std::string at(const char *table, size_t index) { return text("%s[%zu]", table, index); }
std::string at(const std::string &where, const char *field) { return where + "." + field; }

// The first broken rule. Each function of Check looks at one table and returns whether it is sound.
class Check {
public:
    explicit Check(const PlanT &plan) : p(plan) {}

    std::string run() {
        if (limits() && sizes() && arguments() && buffers() && scalars() && stages() && order()) return "";
        return broken;
    }

private:
    const PlanT &p;
    std::string broken;

    bool fail(const char *rule, const std::string &where, const std::string &what) {
        broken = std::string(rule) + ": " + where + " " + what;
        return false;
    }

    // ---- fields of several tables

    template <class E> bool known(const std::string &where, E value) {
        if (value >= E::MIN && value <= E::MAX) return true;
        return fail("enum", where, text("is %d, legal are %d to %d", int(value), int(E::MIN), int(E::MAX)));
    }

    bool count(const std::string &where, size_t n, size_t most) {
        return n <= most || fail("limit", where, text("has %zu entries, at most %zu are allowed", n, most));
    }

    bool index(const char *rule, const std::string &where, int64_t i, size_t n, const char *of) {
        if (i >= 0 && i < int64_t(n)) return true;
        return fail(rule, where, text("is %lld, the plan has %zu %s", (long long)i, n, of));
    }

    bool name(const std::string &where, const std::string &s, bool may_be_empty = false) {
        if (s.empty() && !may_be_empty) return fail("text", where, "is empty");
        if (s.size() > size_t(max_text)) return fail("text", where, text("has %zu bytes, at most %d are allowed", s.size(), max_text));
        for (const char *c = s.c_str(), *end = c + s.size(); c < end;)
            if (!*c || flatbuffers::FromUTF8(&c) < 0) return fail("text", where, "is not UTF-8 text");
        return true;
    }

    bool extents(const std::string &where, const std::vector<Extent> &list) {
        if (list.size() > size_t(max_dimensions))
            return fail("limit", where, text("has %zu dimensions, at most %d are allowed", list.size(), max_dimensions));
        int64_t product = 1;
        for (size_t d = 0; d < list.size(); d++) {
            std::string here = where + text("[%zu]", d);
            if (!extent(here, list[d])) return false;
            int64_t n = list[d].kind() == ExtentKind::Constant ? std::max<int64_t>(list[d].value(), 1) : 1;
            if (__builtin_mul_overflow(product, n, &product) || product > INT64_MAX / 16)
                return fail("extent", where, "multiplies to more than 64 bits of bytes");
        }
        return true;
    }

    bool extent(const std::string &where, const Extent &e) {
        if (!known(at(where, "kind"), e.kind())) return false;
        if (e.kind() == ExtentKind::Size) return index("extent", at(where, "value"), e.value(), p.sizes.size(), "sizes");
        if (e.kind() == ExtentKind::Ranks) return e.value() == 0 || fail("extent", at(where, "value"), "of the number of ranks is not 0");
        if (e.value() < 0 || e.value() > INT32_MAX)
            return fail("extent", at(where, "value"), text("is %lld, legal are 0 to 2147483647", (long long)e.value()));
        return true;
    }

    static bool same(const Extent &a, const Extent &b) { return a.kind() == b.kind() && a.value() == b.value(); }
    static bool same(const std::vector<Extent> &a, const std::vector<Extent> &b) {
        return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto &x, auto &y) { return same(x, y); });
    }

    bool sliced(const char *rule, const std::string &where, int dimension, size_t dimensions) {
        if (dimension >= -1 && dimension < int(dimensions)) return true;
        return fail(rule, where, text("is %d, legal are -1 to %d", dimension, int(dimensions) - 1));
    }

    // ---- one table each

    bool limits() {
        if (p.version != current_version) return fail("version", "version", text("is %d, this runtime reads %d", p.version, current_version));
        size_t published = 0;
        for (auto &b : p.buffers) published += b->peers;
        return name("name", p.name) && name("schedule", p.schedule, true) && name("target", p.target, true) &&
               count("sizes", p.sizes.size(), max_entries) && count("arguments", p.arguments.size(), max_entries) &&
               count("buffers", p.buffers.size(), max_entries) && count("scalars", p.scalars.size(), max_entries) &&
               count("requires", p.requires_.size(), max_entries) && count("stages", p.stages.size(), max_entries) &&
               count("buffers with peers", published, max_published) &&
               ((p.kernels >= 0 && p.kernels <= 1 << 20) || fail("limit", "kernels", text("is %d, legal are 0 to %d", p.kernels, 1 << 20)));
    }

    bool sizes() {
        for (size_t i = 0; i < p.sizes.size(); i++) {
            auto &s = *p.sizes[i];
            std::string here = at("sizes", i);
            if (!name(at(here, "name"), s.name)) return false;
            if (s.argument == -1) {
                if (!index("size", at(here, "parameter"), s.parameter, p.arguments.size(), "arguments")) return false;
                auto &a = *p.arguments[size_t(s.parameter)];
                if (!a.scalar || a.type != Type::Int64) return fail("size", at(here, "parameter"), text("is argument %d, which is no int64 scalar", s.parameter));
                if (s.dimension != -1) return fail("size", at(here, "dimension"), "is given for a size that is a parameter");
                continue;
            }
            if (!index("size", at(here, "argument"), s.argument, p.arguments.size(), "arguments")) return false;
            if (s.parameter != -1) return fail("size", at(here, "parameter"), "is given for a size that an argument has");
            auto &a = *p.arguments[size_t(s.argument)];
            if (a.scalar) return fail("size", at(here, "argument"), text("is argument %d, a scalar", s.argument));
            if (s.dimension < 0 || s.dimension >= int(a.extents.size()))
                return fail("size", at(here, "dimension"), text("is %d, argument %d has %zu dimensions", s.dimension, s.argument, a.extents.size()));
            if (s.dimension == a.sliced) return fail("size", at(here, "dimension"), text("is %d, on which argument %d is sliced", s.dimension, s.argument));
            if (!same(a.extents[size_t(s.dimension)], Extent(ExtentKind::Size, int64_t(i))))
                return fail("size", here, text("is not the extent of dimension %d of argument %d", s.dimension, s.argument));
        }
        return true;
    }

    bool arguments() {
        for (size_t i = 0; i < p.arguments.size(); i++) {
            auto &a = *p.arguments[i];
            std::string here = at("arguments", i);
            if (!name(at(here, "name"), a.name) || !known(at(here, "type"), a.type) || !known(at(here, "access"), a.access) ||
                !known(at(here, "layout"), a.layout) || !known(at(here, "op"), a.op) || !extents(at(here, "extents"), a.extents)) return false;
            if (a.scalar) {
                if (a.buffer != -1) return fail("argument", at(here, "buffer"), text("is %d for a scalar, which has none (-1)", a.buffer));
                if (!a.extents.empty() || a.sliced != -1) return fail("argument", here, "is a scalar and has dimensions");
                if (a.access != Access::Input) return fail("argument", at(here, "access"), "of a scalar is not Input");
                continue;
            }
            if (!sliced("argument", at(here, "sliced"), a.sliced, a.extents.size())) return false;
            if ((a.layout == LayoutKind::Sliced) != (a.sliced >= 0)) return fail("argument", at(here, "sliced"), "and its layout disagree");
            if (!index("argument", at(here, "buffer"), a.buffer, p.buffers.size(), "buffers")) return false;
            auto &b = *p.buffers[size_t(a.buffer)];
            if (b.argument != int(i)) return fail("argument", at(here, "buffer"), text("is %d, whose argument is %d", a.buffer, b.argument));
            if (b.type != a.type || !same(b.extents, a.extents) || b.sliced != a.sliced)
                return fail("argument", here, text("and buffers[%d] differ in type, extents or slice", a.buffer));
        }
        return true;
    }

    bool buffers() {
        for (size_t i = 0; i < p.buffers.size(); i++) {
            auto &b = *p.buffers[i];
            std::string here = at("buffers", i);
            if (!name(at(here, "name"), b.name) || !known(at(here, "type"), b.type) || !extents(at(here, "extents"), b.extents) ||
                !sliced("buffer", at(here, "sliced"), b.sliced, b.extents.size())) return false;
            if (b.argument == -1) continue;
            if (!index("buffer", at(here, "argument"), b.argument, p.arguments.size(), "arguments")) return false;
            if (p.arguments[size_t(b.argument)]->buffer != int(i))
                return fail("buffer", at(here, "argument"), text("is %d, whose buffer is %d", b.argument, p.arguments[size_t(b.argument)]->buffer));
        }
        return true;
    }

    bool scalars() {
        for (size_t i = 0; i < p.scalars.size(); i++)
            if (!name(at(at("scalars", i), "name"), p.scalars[i]->name) || !known(at(at("scalars", i), "type"), p.scalars[i]->type)) return false;
        if (p.scalars.empty() != (p.scalar_kernel == -1))
            return fail("scalar", "scalar_kernel", text("is %d, the plan has %zu scalars", p.scalar_kernel, p.scalars.size()));
        if (p.scalar_kernel != -1 && !index("kernel", "scalar_kernel", p.scalar_kernel, size_t(p.kernels), "kernels")) return false;
        for (size_t i = 0; i < p.requires_.size(); i++) {
            auto &r = *p.requires_[i];
            std::string here = at("requires", i);
            if (!name(at(here, "text"), r.text) || !count(at(here, "arguments"), r.arguments.size(), max_entries) ||
                !index("require", at(here, "scalar"), r.scalar, p.scalars.size(), "scalars")) return false;
            if (p.scalars[size_t(r.scalar)]->type != Type::Bool) return fail("require", at(here, "scalar"), text("is %d, which is no Bool", r.scalar));
            for (int a : r.arguments) {
                if (!index("require", at(here, "arguments"), a, p.arguments.size(), "arguments")) return false;
                if (!p.arguments[size_t(a)]->scalar) return fail("require", at(here, "arguments"), text("names argument %d, a tensor", a));
            }
        }
        return true;
    }

    bool stages() {
        for (size_t i = 0; i < p.stages.size(); i++)
            if (!stage(at("stages", i), *p.stages[i])) return false;
        return true;
    }

    bool stage(const std::string &here, const StageT &s) {
        if (!known(at(here, "kind"), s.kind) || !known(at(here, "collective"), s.collective) ||
            !count(at(here, "names"), s.names.size(), max_entries) || !count(at(here, "sums"), s.sums.size(), max_loads) ||
            !count(at(here, "direct"), s.direct.size(), max_loads) || !count(at(here, "stores"), s.stores.size(), max_loads)) return false;
        for (size_t k = 0; k < s.names.size(); k++)
            if (!name(at(here, "names") + text("[%zu]", k), s.names[k])) return false;
        return loops(here, s) && kernels(here, s) && stores(here, s) && collective(here, s);
    }

    static bool is_block(Range r) { return r == Range::OwnBlock || r == Range::EachBlock; }
    static const Loop *divided(const StageT &s) {    // the loop that is not run whole, if any
        for (auto &l : s.loops)
            if (l.range() != Range::Whole) return &l;
        return nullptr;
    }

    bool loops(const std::string &here, const StageT &s) {
        if (s.loops.size() > size_t(max_dimensions))
            return fail("limit", at(here, "loops"), text("has %zu entries, at most %d are allowed", s.loops.size(), max_dimensions));
        if (s.outputs < 0 || s.outputs > int(s.loops.size()))
            return fail("loop", at(here, "outputs"), text("is %d, the stage has %zu loops", s.outputs, s.loops.size()));
        int parts = 0;
        bool blocks = false;
        for (size_t d = 0; d < s.loops.size(); d++) {
            std::string loop = at(here, "loops") + text("[%zu]", d);
            if (!known(at(loop, "range"), s.loops[d].range()) || !extent(at(loop, "extent"), s.loops[d].extent())) return false;
            parts += s.loops[d].range() != Range::Whole;
            blocks |= is_block(s.loops[d].range());
            if (is_block(s.loops[d].range()) && int(d) < s.outputs) return fail("loop", at(loop, "range"), "is a block, which only a reduced loop can be");
        }
        if (parts > 1) return fail("loop", at(here, "loops"), "has more than one loop that is not Whole");
        if ((s.kind == StageKind::BlockSum) != blocks) return fail("loop", at(here, "kind"), "is BlockSum if and only if one loop runs over blocks");
        if (s.kind == StageKind::BlockSum && s.outputs != 0) return fail("loop", at(here, "outputs"), text("is %d, a block sum has none", s.outputs));
        if (s.kind == StageKind::Sweep && s.outputs != int(s.loops.size()))
            return fail("loop", at(here, "outputs"), text("is %d, a sweep of %zu loops has that many", s.outputs, s.loops.size()));
        return true;
    }

    struct Uses { int each = 0, sum = 0; };

    bool kernel(const std::string &here, const KernelT &k, const StageT &s, Uses &uses) {
        if (!index("kernel", at(here, "id"), k.id, size_t(p.kernels), "kernels") || !count(at(here, "scalars"), k.scalars.size(), max_loads) ||
            !count(at(here, "loads"), k.loads.size(), max_loads)) return false;
        for (int i : k.scalars)
            if (!index("kernel", at(here, "scalars"), i, p.scalars.size(), "scalars")) return false;
        for (size_t i = 0; i < k.loads.size(); i++) {
            auto &l = k.loads[i];
            std::string load = at(here, "loads") + text("[%zu]", i);
            if (!known(at(load, "from"), l.from())) return false;
            uses.each += l.from() == From::Each;
            uses.sum += l.from() == From::Sum;
            if (l.from() == From::Sum) {
                if (!index("load", at(load, "rank"), l.rank(), s.sums.size(), "sums in this stage")) return false;
                continue;
            }
            if (!index("load", at(load, "buffer"), l.buffer(), p.buffers.size(), "buffers")) return false;
            auto &b = *p.buffers[size_t(l.buffer())];
            if (l.from() == From::Own) continue;
            if (!b.peers) return fail("load", load, text("reads buffer %s of another rank, which is not marked peers", b.name.c_str()));
            if (l.from() == From::Rank && (l.rank() < 0 || l.rank() > 1 << 20)) return fail("load", at(load, "rank"), text("is %d, not a rank", l.rank()));
        }
        return true;
    }

    bool kernels(const std::string &here, const StageT &s) {
        Uses own;
        if (!s.kernel) return fail("kernel", at(here, "kernel"), "is missing");
        if (!kernel(at(here, "kernel"), *s.kernel, s, own)) return false;
        if (own.each && s.direct.empty()) return fail("load", at(here, "kernel"), "reads Each rank, which needs sums or a direct kernel");
        std::vector<bool> read(s.sums.size());
        for (auto &l : s.kernel->loads)
            if (l.from() == From::Sum) read[size_t(l.rank())] = true;
        for (size_t i = 0; i < s.sums.size(); i++) {
            std::string sum = at(here, "sums") + text("[%zu]", i);
            Uses uses;
            if (!s.sums[i]->kernel) return fail("kernel", at(sum, "kernel"), "is missing");
            if (!known(at(sum, "type"), s.sums[i]->type) || !kernel(at(sum, "kernel"), *s.sums[i]->kernel, s, uses)) return false;
            if (!uses.each) return fail("sum", sum, "reads no operand of Each rank");
            if (uses.sum) return fail("sum", sum, "reads another sum");
            if (!read[i]) return fail("sum", sum, "is read by no load of the stage's kernel");
        }
        std::set<int> ranks;
        for (size_t i = 0; i < s.direct.size(); i++) {
            auto &d = *s.direct[i];
            std::string direct = at(here, "direct") + text("[%zu]", i);
            Uses uses;
            if (d.ranks < 1 || d.ranks > max_loads) return fail("direct", at(direct, "ranks"), text("is %d, legal are 1 to %d", d.ranks, max_loads));
            if (!ranks.insert(d.ranks).second) return fail("direct", at(direct, "ranks"), text("is %d, as of an earlier one", d.ranks));
            if (!d.kernel) return fail("kernel", at(direct, "kernel"), "is missing");
            if (!kernel(at(direct, "kernel"), *d.kernel, s, uses)) return false;
            if (!uses.each) return fail("direct", direct, "reads no operand of Each rank");
            if (uses.sum) return fail("direct", direct, "reads a sum");
        }
        return true;
    }

    bool stores(const std::string &here, const StageT &s) {
        if (s.stores.empty()) return fail("store", at(here, "stores"), "is empty");
        std::set<int> seen;
        const Loop *part = divided(s);
        bool blocks = part && is_block(part->range());
        for (size_t i = 0; i < s.stores.size(); i++) {
            auto &t = s.stores[i];
            std::string store = at(here, "stores") + text("[%zu]", i);
            if (!known(at(store, "to"), t.to()) || !index("store", at(store, "buffer"), t.buffer(), p.buffers.size(), "buffers")) return false;
            auto &b = *p.buffers[size_t(t.buffer())];
            const char *label = b.name.c_str();
            if (!seen.insert(t.buffer()).second) return fail("store", store, text("is a second one to buffer %s", label));
            if (b.argument >= 0 && p.arguments[size_t(b.argument)]->access == Access::Input) return fail("store", store, text("writes the input %s", label));
            size_t dimensions = blocks ? 1 : size_t(s.outputs);
            if (b.extents.size() != dimensions)
                return fail("store", store, text("has %zu dimensions, buffer %s has %zu", dimensions, label, b.extents.size()));
            if (blocks && b.extents[0].kind() != ExtentKind::Ranks) return fail("store", store, text("is of block sums, buffer %s has not one element a rank", label));
            if (blocks && part->range() == Range::EachBlock && (t.to() == To::All || b.sliced >= 0))
                return fail("store", store, text("of every block goes to the own, whole buffer only; %s is stored to all or sliced", label));
            if (!blocks && b.sliced >= 0 && s.loops[size_t(b.sliced)].range() != Range::Slice)
                return fail("store", store, text("runs over more of buffer %s than this rank's slice", label));
            if (t.to() == To::All && b.sliced >= 0) return fail("store", store, text("goes to every rank, but buffer %s is sliced", label));
            if (t.to() == To::All && !b.peers) return fail("store", store, text("goes to every rank, but buffer %s is not marked peers", label));
            if (t.to() == To::All && !part && s.collective == Collective::None)
                return fail("store", store, text("writes all of buffer %s on every rank: no loop is a slice", label));
        }
        return true;
    }

    bool collective(const std::string &here, const StageT &s) {
        if (s.collective == Collective::None) return true;
        if (divided(s)) return fail("collective", at(here, "loops"), "of a collective are not all Whole");
        if (s.sums.empty() && s.direct.empty()) return fail("collective", here, "sums over no rank: it has neither sums nor direct kernels");
        for (auto &t : s.stores) {
            auto &b = *p.buffers[size_t(t.buffer())];
            if (b.sliced >= 0) return fail("collective", here, text("stores to buffer %s, which is sliced", b.name.c_str()));
            if (s.collective != Collective::OneShot && !b.peers)
                return fail("collective", here, text("may store to every rank's %s, which is not marked peers", b.name.c_str()));
        }
        return true;
    }

    // What is neither an input nor stored by an earlier stage has no value to load.
    bool order() {
        std::vector<bool> defined(p.buffers.size());
        for (auto &a : p.arguments)
            if (!a->scalar && a->access != Access::Output) defined[size_t(a->buffer)] = true;
        for (size_t i = 0; i < p.stages.size(); i++) {
            auto &s = *p.stages[i];
            auto loads = [&](const KernelT &k, const std::string &where) {
                for (auto &l : k.loads)
                    if (l.from() != From::Sum && !defined[size_t(l.buffer())])
                        return fail("order", where, text("loads buffer %s, which no earlier stage stores", p.buffers[size_t(l.buffer())]->name.c_str()));
                return true;
            };
            if (!loads(*s.kernel, at("stages", i) + ".kernel")) return false;
            for (auto &k : s.sums)
                if (!loads(*k->kernel, at("stages", i) + ".sums")) return false;
            for (auto &k : s.direct)
                if (!loads(*k->kernel, at("stages", i) + ".direct")) return false;
            for (auto &t : s.stores)
                if (t.in_place() && !defined[size_t(t.buffer())])
                    return fail("order", at("stages", i) + ".stores", text("updates buffer %s, which no earlier stage stores", p.buffers[size_t(t.buffer())]->name.c_str()));
            for (auto &t : s.stores) defined[size_t(t.buffer())] = true;
        }
        return true;
    }
};

// FlatBuffers' verifier looks at the alignment of a vector's length, not of its elements.
template <class T>
bool aligned(const flatbuffers::Vector<const T *> *list) {
    return !list || reinterpret_cast<uintptr_t>(list->Data()) % alignof(T) == 0;
}

bool aligned(const Plan &plan) {
    auto all = [](const auto *tables, const auto &sound) {
        for (size_t i = 0; tables && i < tables->size(); i++)
            if (!sound(*tables->Get(flatbuffers::uoffset_t(i)))) return false;
        return true;
    };
    return all(plan.arguments(), [](const Argument &a) { return aligned(a.extents()); }) &&
           all(plan.buffers(), [](const Buffer &b) { return aligned(b.extents()); }) &&
           all(plan.stages(), [](const Stage &s) { return aligned(s.loops()); });
}

}  // namespace

std::string check(const PlanT &plan) { return Check(plan).run(); }

std::string validate(const uint8_t *bytes, uint64_t size, PlanT *plan) {
    if (!bytes) return "structure: there are no bytes";
    if (size < 16 || size > uint64_t(1) << 30) return text("structure: %llu bytes are no plan", (unsigned long long)size);
    if (!PlanBufferHasIdentifier(bytes)) return "identifier: the bytes do not begin as a plan does (STRT)";
    flatbuffers::Verifier verifier(bytes, size, 16, 1 << 20);
    if (!VerifyPlanBuffer(verifier)) return text("structure: the %llu bytes are truncated or damaged", (unsigned long long)size);
    const Plan *root = GetPlan(bytes);
    if (!aligned(*root)) return "structure: a vector is not aligned";
    if (root->version() != current_version) return text("version: the plan is of version %d, this runtime reads %d", root->version(), current_version);
    if (!root->checksum()) return "checksum: there is none; plans are made by stretto::plan::pack";
    if (root->checksum() != checksum_of(bytes, size)) return "checksum: the bytes were changed after the plan was made";
    root->UnPackTo(plan);
    return check(*plan);
}

int bytes_of(Type type) {
    switch (type) {
    case Type::Bool: case Type::Int8: case Type::UInt8: return 1;
    case Type::Int16: case Type::UInt16: case Type::Float16: case Type::BFloat16: return 2;
    case Type::Int32: case Type::UInt32: case Type::Float32: return 4;
    case Type::Int64: case Type::UInt64: case Type::Float64: return 8;
    }
    return 0;
}

}  // namespace stretto::plan
