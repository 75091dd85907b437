#include "collectives/plan/print.h"

#include <cctype>

#include "flatbuffers/minireflect.h"

namespace stretto::plan {
namespace {

std::string lower(const char *name) {
    std::string s(name);
    for (char &c : s) c = char(std::tolower(c));
    return s;
}

// "a, b, c"; `one` prints an entry.
template <class List, class Print>
std::string join(const List &list, const Print &one) {
    std::string s;
    for (auto &entry : list) s += (s.empty() ? "" : ", ") + one(entry);
    return s;
}

class Printer {
public:
    explicit Printer(const PlanT &plan) : p(plan) {}

    std::string run() {
        out = "plan " + p.name;
        if (!p.schedule.empty()) out += ", schedule " + p.schedule;
        if (!p.target.empty()) out += ", target " + p.target;
        out += ", version " + number(p.version) + ", " + number(p.kernels) + " kernels\n";
        for (auto &s : p.sizes) size(*s);
        for (auto &a : p.arguments) argument(*a);
        for (auto &b : p.buffers)
            if (b->argument < 0)
                out += "scratch " + b->name + ": " + shape(b->type, b->extents) + storage(*b) + "\n";
        if (!p.scalars.empty()) {
            out += "scalars, kernel " + number(p.scalar_kernel) + ": " +
                   join(p.scalars, [&](auto &s) { return lower(EnumNameType(s->type)) + " " + s->name; }) +
                   "\n";
        }
        for (auto &r : p.requires_) {
            out += "require " + p.scalars[size_t(r->scalar)]->name + ": \"" + r->text + "\"";
            if (!r->arguments.empty())
                out += ", shows " + join(r->arguments, [&](int a) { return p.arguments[size_t(a)]->name; });
            out += "\n";
        }
        for (auto &s : p.stages) stage(*s);
        if (p.leave_one_shot || p.leave_two_phase)
            out += "\nbarrier at the end" + when(p.leave_one_shot, p.leave_two_phase) + "\n";
        return out;
    }

private:
    const PlanT &p;
    std::string out;

    static std::string number(int64_t n) { return std::to_string(n); }

    std::string extent(const Extent &e) const {
        if (e.kind() == ExtentKind::Size) return p.sizes[size_t(e.value())]->name;
        return e.kind() == ExtentKind::Ranks ? "ranks" : number(e.value());
    }

    std::string shape(Type type, const std::vector<Extent> &extents) const {
        return lower(EnumNameType(type)) + "[" + join(extents, [&](const Extent &e) { return extent(e); }) +
               "]";
    }

    static std::string storage(const BufferT &b) {
        return (b.sliced >= 0 ? ", sliced(" + number(b.sliced) + ")" : "") + (b.peers ? ", peers" : "");
    }

    // When the barrier is needed: always, unless the flags for the two ways of an all-reduce differ.
    static std::string when(bool one_shot, bool two_phase) {
        return one_shot && two_phase ? "" : one_shot ? " if one-shot"
                                                     : " if two-phase";
    }

    void size(const SizeT &s) {
        out += "size " + s.name + ": ";
        if (s.argument < 0) out += "argument " + p.arguments[size_t(s.parameter)]->name + "\n";
        else
            out += "dimension " + number(s.dimension) + " of " + p.arguments[size_t(s.argument)]->name + "\n";
    }

    void argument(const ArgumentT &a) {
        out += "argument " + a.name + ": ";
        if (a.scalar) {
            out += lower(EnumNameType(a.type)) + "\n";
            return;
        }
        out += shape(a.type, a.extents) + ", " + lower(EnumNameAccess(a.access)) + ", ";
        if (a.layout == LayoutKind::Sliced) out += "sliced(" + number(a.sliced) + ")";
        else if (a.layout == LayoutKind::Partial)
            out += std::string("partial(") + EnumNameReduceOp(a.op) + ")";
        else out += lower(EnumNameLayoutKind(a.layout));
        out += std::string(p.buffers[size_t(a.buffer)]->peers ? ", peers" : "") + "\n";
    }

    static std::string index(size_t d) {
        static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
        return letters[d % 8];
    }

    std::string loop(const Loop &l, size_t d, bool reduced) const {
        static const char *const ranges[] = {"", "slice of ", "own block of ", "each block of "};
        return index(d) + " in " + ranges[int(l.range())] + extent(l.extent()) + (reduced ? ", reduced" : "");
    }

    std::string load(const Load &l) const {
        if (l.from() == From::Sum) return "sum " + number(l.rank());
        std::string s = p.buffers[size_t(l.buffer())]->name;
        return l.from() == From::Each ? s + "@each" : l.from() == From::Rank ? s + "@" + number(l.rank())
                                                                             : s;
    }

    std::string kernel(const KernelT &k) const {
        std::string s = "kernel " + number(k.id);
        if (!k.scalars.empty())
            s += ", scalars " + join(k.scalars, [&](int i) { return p.scalars[size_t(i)]->name; });
        if (!k.loads.empty()) s += ", loads " + join(k.loads, [&](const Load &l) { return load(l); });
        return s;
    }

    void stage(const StageT &s) {
        static const char *const kinds[] = {"sweep", "block sum", "contraction", "fold"};
        static const char *const carried[] = {"", ", all-reduce", ", one-shot all-reduce",
                                              ", two-phase all-reduce"};
        out += "\nstage " + join(s.names, [](const std::string &n) { return n; }) + ": " + kinds[int(s.kind)];
        out += carried[int(s.collective)];
        if (s.barrier_one_shot || s.barrier_two_phase)
            out += ", barrier before" + when(s.barrier_one_shot, s.barrier_two_phase);
        out += "\n";
        for (size_t d = 0; d < s.loops.size(); d++)
            out += "  " + loop(s.loops[d], d, int(d) >= s.outputs) + "\n";
        for (size_t i = 0; i < s.sums.size(); i++) {
            out += "  sum " + number(int64_t(i)) + ", " + lower(EnumNameType(s.sums[i]->type)) + ": ";
            out += kernel(*s.sums[i]->kernel) + "\n";
        }
        out += "  " + kernel(*s.kernel) + "\n";
        for (auto &d : s.direct) {
            out += "  " + number(d->ranks) + " ranks: " + kernel(*d->kernel) + "\n";
            if (d->to_peers) out += "    storing to peers: kernel " + number(d->to_peers->id) + "\n";
        }
        out += "  stores " +
               join(s.stores,
                    [&](const Store &t) {
                        return p.buffers[size_t(t.buffer())]->name + (t.to() == To::All ? "@all" : "") +
                               (t.in_place() ? " in place" : "");
                    }) +
               "\n";
    }
};

}  // namespace

std::string print(const PlanT &plan) { return Printer(plan).run(); }

std::string print_json(const std::vector<uint8_t> &bytes) {
    flatbuffers::ToStringVisitor visitor("\n", true, "  ", true);
    flatbuffers::IterateFlatBuffer(bytes.data(), PlanTypeTable(), &visitor);
    return visitor.s + "\n";
}

}  // namespace stretto::plan
