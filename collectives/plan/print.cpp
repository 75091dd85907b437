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
        if (!p.cpu->target.empty()) out += ", target " + p.cpu->target;
        out += ", version " + number(p.version) + ", " + number(p.cpu->kernels) + " kernels\n";
        for (auto &s : p.sizes) size(*s);
        for (auto &a : p.arguments) argument(*a);
        for (auto &b : p.buffers)
            if (b->argument < 0)
                out += "scratch " + b->name + ": " + shape(b->type, b->extents) + storage(*b) + "\n";
        if (!p.scalars.empty()) {
            out += "scalars, kernel " + number(p.cpu->scalar_kernel) + ": " +
                   join(p.scalars, [&](auto &s) { return lower(EnumNameType(s->type)) + " " + s->name; }) +
                   "\n";
        }
        for (auto &r : p.requires_) {
            out += "require " + p.scalars[size_t(r->scalar)]->name + ": \"" + r->text + "\"";
            if (!r->arguments.empty())
                out += ", shows " + join(r->arguments, [&](int a) { return p.arguments[size_t(a)]->name; });
            out += "\n";
        }
        for (auto &item : p.items) {
            if (item.kind() == ItemKind::Stage) stage("", item.index());
            if (item.kind() == ItemKind::Sync)
                out += "\nsync " + buffers(p.syncs[size_t(item.index())]->buffers) + "\n";
            if (item.kind() == ItemKind::Choice) {
                stage("in one shot, ", p.choices[size_t(item.index())].one_shot());
                stage("or in two phases, ", p.choices[size_t(item.index())].two_phases());
            }
        }
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

    static std::string storage(const BufferT &b) { return b.sliced >= 0 ? ", sliced(" + number(b.sliced) + ")" : ""; }

    std::string buffers(const std::vector<int> &list) const {
        return join(list, [&](int b) { return p.buffers[size_t(b)]->name; });
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
        out += "\n";
    }

    static std::string index(size_t d) {
        static const char *const letters[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
        return letters[d % 8];
    }

    std::string loop(const Loop &l, size_t d, bool reduced) const {
        static const char *const ranges[] = {"", "slice of ", "any slice of ", "block of "};
        return index(d) + " in " + ranges[int(l.range())] + extent(l.extent()) + (reduced ? ", reduced" : "");
    }

    // "g[i]@each": the element or the elements, and of which rank.
    std::string access(const StageAccessT &a) const {
        std::string s = p.buffers[size_t(a.buffer)]->name;
        s += "[" + join(a.reach, [](int loop) { return loop < 0 ? "any" : index(size_t(loop)); }) + "]";
        if (a.from == From::Shift) s += (a.cyclic ? "@around " : "@own ") + number(a.rank);
        return s + (a.from == From::Each ? "@each" : a.from == From::Rank ? "@" + number(a.rank)
                                                                          : "");
    }

    std::string kernel(const KernelT &k, const StageT &s) const {
        std::string text = "kernel " + number(k.id);
        if (!k.scalars.empty())
            text += ", scalars " + join(k.scalars, [&](int i) { return p.scalars[size_t(i)]->name; });
        if (!k.loads.empty())
            text += ", loads " + join(k.loads, [&](int i) { return p.buffers[size_t(s.accesses[size_t(i)]->buffer)]->name; });
        if (!k.sums.empty()) text += ", sums " + join(k.sums, number);
        return text;
    }

    void stage(const char *arm, int which) {
        static const char *const kinds[] = {"sweep", "block sum", "contraction", "fold"};
        static const char *const ways[] = {"reads ", "writes ", "updates "};
        const StageT &s = *p.stages[size_t(which)];
        out += "\nstage " + s.names + ": " + arm + kinds[int(s.kind)];
        out += s.rides ? ", riding in the sweep before it\n" : "\n";
        for (size_t d = 0; d < s.loops.size(); d++)
            out += "  " + loop(s.loops[d], d, int(d) >= s.outputs) + "\n";
        for (auto &a : s.accesses) out += "  " + (ways[int(a->how)] + access(*a)) + "\n";
        const StageKernelsT &k = *p.cpu->stages[size_t(which)];
        for (size_t i = 0; i < k.sums.size(); i++) {
            out += "  sum " + number(int64_t(i)) + ", " + lower(EnumNameType(k.sums[i]->type)) + ": ";
            out += kernel(*k.sums[i]->kernel, s) + "\n";
        }
        out += "  " + kernel(*k.kernel, s) + "\n";
        for (auto &d : k.direct) {
            out += "  " + number(d->ranks) + " ranks: " + kernel(*d->kernel, s) + "\n";
            if (d->to_peers) out += "    storing to peers: kernel " + number(d->to_peers->id) + "\n";
        }
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
