#include <algorithm>
#include <set>

#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

class Stages : public Rules {
public:
    using Rules::Rules;

    bool run() { return stages() && order(); }

private:
    bool stages() {
        for (size_t i = 0; i < p.stages.size(); i++)
            if (!stage(at("stages", i), *p.stages[i])) return false;
        return true;
    }

    bool stage(const std::string &here, const StageT &s) {
        if (!known(at(here, "kind"), s.kind) || !known(at(here, "collective"), s.collective) ||
            !count(at(here, "names"), s.names.size(), max_entries) ||
            !count(at(here, "sums"), s.sums.size(), max_loads) ||
            !count(at(here, "direct"), s.direct.size(), max_loads) ||
            !count(at(here, "stores"), s.stores.size(), max_loads))
            return false;
        for (size_t k = 0; k < s.names.size(); k++)
            if (!name(at(here, "names") + text("[%zu]", k), s.names[k])) return false;
        return loops(here, s) && kernels(here, s) && stores(here, s) && to_peers(here, s) && collective(here, s);
    }

    static bool is_block(Range r) { return r == Range::OwnBlock || r == Range::EachBlock; }
    static const Loop *divided(const StageT &s) {  // the loop that is not run whole, if any
        for (auto &l : s.loops)
            if (l.range() != Range::Whole) return &l;
        return nullptr;
    }

    bool loops(const std::string &here, const StageT &s) {
        if (s.loops.size() > size_t(max_dimensions))
            return fail("limit", at(here, "loops"),
                        text("has %zu entries, at most %d are allowed", s.loops.size(), max_dimensions));
        if (s.outputs < 0 || s.outputs > int(s.loops.size()))
            return fail("loop", at(here, "outputs"),
                        text("is %d, the stage has %zu loops", s.outputs, s.loops.size()));
        int parts = 0;
        bool blocks = false;
        for (size_t d = 0; d < s.loops.size(); d++) {
            std::string loop = at(here, "loops") + text("[%zu]", d);
            if (!known(at(loop, "range"), s.loops[d].range()) ||
                !extent(at(loop, "extent"), s.loops[d].extent()))
                return false;
            parts += s.loops[d].range() != Range::Whole;
            blocks |= is_block(s.loops[d].range());
            if (is_block(s.loops[d].range()) && int(d) < s.outputs)
                return fail("loop", at(loop, "range"), "is a block, which only a reduced loop can be");
        }
        if (parts > 1) return fail("loop", at(here, "loops"), "has more than one loop that is not Whole");
        if ((s.kind == StageKind::BlockSum) != blocks)
            return fail("loop", at(here, "kind"), "is BlockSum if and only if one loop runs over blocks");
        if (s.kind == StageKind::BlockSum && s.outputs != 0)
            return fail("loop", at(here, "outputs"), text("is %d, a block sum has none", s.outputs));
        if (s.kind == StageKind::Sweep && s.outputs != int(s.loops.size()))
            return fail("loop", at(here, "outputs"),
                        text("is %d, a sweep of %zu loops has that many", s.outputs, s.loops.size()));
        return true;
    }

    struct Uses {
        int each = 0, sum = 0;
    };

    bool kernel(const std::string &here, const KernelT &k, const StageT &s, Uses &uses) {
        if (!index("kernel", at(here, "id"), k.id, size_t(p.kernels), "kernels") ||
            !count(at(here, "scalars"), k.scalars.size(), max_loads) ||
            !count(at(here, "loads"), k.loads.size(), max_loads))
            return false;
        for (int i : k.scalars)
            if (!index("kernel", at(here, "scalars"), i, p.scalars.size(), "scalars")) return false;
        for (size_t i = 0; i < k.loads.size(); i++) {
            auto &l = k.loads[i];
            std::string load = at(here, "loads") + text("[%zu]", i);
            if (!known(at(load, "from"), l.from())) return false;
            uses.each += l.from() == From::Each;
            uses.sum += l.from() == From::Sum;
            if (l.from() == From::Sum) {
                if (!index("load", at(load, "rank"), l.rank(), s.sums.size(), "sums in this stage"))
                    return false;
                continue;
            }
            if (!index("load", at(load, "buffer"), l.buffer(), p.buffers.size(), "buffers")) return false;
            auto &b = *p.buffers[size_t(l.buffer())];
            if (l.from() == From::Own) continue;
            if (!b.peers)
                return fail(
                    "load", load,
                    text("reads buffer %s of another rank, which is not marked peers", b.name.c_str()));
            if (l.from() == From::Rank && (l.rank() < 0 || l.rank() > 1 << 20))
                return fail("load", at(load, "rank"), text("is %d, not a rank", l.rank()));
        }
        return true;
    }

    bool to_peers(const std::string &stage, const StageT &s) {
        for (size_t i = 0; i < s.direct.size(); i++)
            if (s.direct[i]->to_peers && !to_peers(at(stage, "direct") + text("[%zu].to_peers", i), *s.direct[i], s))
                return false;
        return true;
    }

    bool to_peers(const std::string &here, const DirectT &d, const StageT &s) {
        Uses uses;
        if (!kernel(here, *d.to_peers, s, uses)) return false;
        bool all = s.collective != Collective::None;
        for (auto &t : s.stores) all |= t.to() == To::All;
        if (d.ranks == 1 || !all) return fail("direct", here, "has no peers to store to");
        auto &a = d.to_peers->loads, &b = d.kernel->loads;
        if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Load &x, const Load &y) {
                return x.buffer() == y.buffer() && x.from() == y.from() && x.rank() == y.rank();
            }))
            return fail("direct", here, "loads something else than the kernel that does not store to peers");
        return true;
    }

    bool kernels(const std::string &here, const StageT &s) {
        Uses own;
        if (!s.kernel) return fail("kernel", at(here, "kernel"), "is missing");
        if (!kernel(at(here, "kernel"), *s.kernel, s, own)) return false;
        if (own.each && s.direct.empty())
            return fail("load", at(here, "kernel"), "reads Each rank, which needs sums or a direct kernel");
        std::vector<bool> read(s.sums.size());
        for (auto &l : s.kernel->loads)
            if (l.from() == From::Sum) read[size_t(l.rank())] = true;
        for (size_t i = 0; i < s.sums.size(); i++) {
            std::string sum = at(here, "sums") + text("[%zu]", i);
            Uses uses;
            if (!s.sums[i]->kernel) return fail("kernel", at(sum, "kernel"), "is missing");
            if (!known(at(sum, "type"), s.sums[i]->type) ||
                !kernel(at(sum, "kernel"), *s.sums[i]->kernel, s, uses))
                return false;
            if (!uses.each) return fail("sum", sum, "reads no operand of Each rank");
            if (uses.sum) return fail("sum", sum, "reads another sum");
            if (!read[i]) return fail("sum", sum, "is read by no load of the stage's kernel");
        }
        std::set<int> ranks;
        for (size_t i = 0; i < s.direct.size(); i++) {
            auto &d = *s.direct[i];
            std::string direct = at(here, "direct") + text("[%zu]", i);
            Uses uses;
            if (d.ranks < 1 || d.ranks > max_loads)
                return fail("direct", at(direct, "ranks"),
                            text("is %d, legal are 1 to %d", d.ranks, max_loads));
            if (!ranks.insert(d.ranks).second)
                return fail("direct", at(direct, "ranks"), text("is %d, as of an earlier one", d.ranks));
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
            if (!known(at(store, "to"), t.to()) ||
                !index("store", at(store, "buffer"), t.buffer(), p.buffers.size(), "buffers"))
                return false;
            auto &b = *p.buffers[size_t(t.buffer())];
            const char *label = b.name.c_str();
            if (!seen.insert(t.buffer()).second)
                return fail("store", store, text("is a second one to buffer %s", label));
            if (b.argument >= 0 && p.arguments[size_t(b.argument)]->access == Access::Input)
                return fail("store", store, text("writes the input %s", label));
            size_t dimensions = blocks ? 1 : size_t(s.outputs);
            if (b.extents.size() != dimensions)
                return fail(
                    "store", store,
                    text("has %zu dimensions, buffer %s has %zu", dimensions, label, b.extents.size()));
            if (blocks && b.extents[0].kind() != ExtentKind::Ranks)
                return fail("store", store,
                            text("is of block sums, buffer %s has not one element a rank", label));
            if (blocks && part->range() == Range::EachBlock && (t.to() == To::All || b.sliced >= 0))
                return fail(
                    "store", store,
                    text("of every block goes to the own, whole buffer only; %s is stored to all or sliced",
                         label));
            if (!blocks && b.sliced >= 0 && s.loops[size_t(b.sliced)].range() != Range::Slice)
                return fail("store", store,
                            text("runs over more of buffer %s than this rank's slice", label));
            if (t.to() == To::All && b.sliced >= 0)
                return fail("store", store, text("goes to every rank, but buffer %s is sliced", label));
            if (t.to() == To::All && !b.peers)
                return fail("store", store,
                            text("goes to every rank, but buffer %s is not marked peers", label));
            if (t.to() == To::All && !part && s.collective == Collective::None)
                return fail("store", store,
                            text("writes all of buffer %s on every rank: no loop is a slice", label));
        }
        return true;
    }

    bool collective(const std::string &here, const StageT &s) {
        if (s.collective == Collective::None) return true;
        if (divided(s)) return fail("collective", at(here, "loops"), "of a collective are not all Whole");
        if (s.sums.empty() && s.direct.empty())
            return fail("collective", here, "sums over no rank: it has neither sums nor direct kernels");
        for (auto &t : s.stores) {
            auto &b = *p.buffers[size_t(t.buffer())];
            if (b.sliced >= 0)
                return fail("collective", here, text("stores to buffer %s, which is sliced", b.name.c_str()));
            if (s.collective != Collective::OneShot && !b.peers)
                return fail("collective", here,
                            text("may store to every rank's %s, which is not marked peers", b.name.c_str()));
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
                        return fail("order", where,
                                    text("loads buffer %s, which no earlier stage stores",
                                         p.buffers[size_t(l.buffer())]->name.c_str()));
                return true;
            };
            if (!loads(*s.kernel, at("stages", i) + ".kernel")) return false;
            for (auto &k : s.sums)
                if (!loads(*k->kernel, at("stages", i) + ".sums")) return false;
            for (auto &k : s.direct)  // to_peers has the same loads
                if (!loads(*k->kernel, at("stages", i) + ".direct")) return false;
            for (auto &t : s.stores)
                if (t.in_place() && !defined[size_t(t.buffer())])
                    return fail("order", at("stages", i) + ".stores",
                                text("updates buffer %s, which no earlier stage stores",
                                     p.buffers[size_t(t.buffer())]->name.c_str()));
            for (auto &t : s.stores) defined[size_t(t.buffer())] = true;
        }
        return true;
    }
};

}  // namespace

std::string check_stages(const PlanT &plan) {
    Stages stages(plan);
    return stages.run() ? "" : stages.broken;
}

}  // namespace stretto::plan
