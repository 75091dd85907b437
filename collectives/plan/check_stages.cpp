#include <algorithm>
#include <set>

#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

class Stages : Rules {
public:
    using Rules::Rules;

    void run() {
        for (size_t i = 0; i < p.stages.size(); i++) stage(at("stages", i), *p.stages[i]);
        items();
        riders();
        order();
    }

private:
    void stage(const std::string &here, const StageT &s) {
        known(at(here, "kind"), s.kind);
        name(at(here, "names"), s.names, true);
        count(at(here, "accesses"), s.accesses.size(), max_loads);
        loops(here, s);
        accesses(here, s);
    }

    void loops(const std::string &here, const StageT &s) {
        if (s.loops.size() > size_t(max_dimensions))
            fail("limit", at(here, "loops"), "has %zu entries, at most %d are allowed", s.loops.size(), max_dimensions);
        if (s.outputs < 0 || s.outputs > int(s.loops.size()))
            fail("loop", at(here, "outputs"), "is %d, the stage has %zu loops", s.outputs, s.loops.size());
        int slices = 0, any = 0, blocks = 0;
        for (size_t d = 0; d < s.loops.size(); d++) {
            std::string loop = at(here, "loops", d);
            const Range range = s.loops[d].range();
            known(at(loop, "range"), range);
            extent(at(loop, "extent"), s.loops[d].extent());
            slices += range == Range::Slice;
            any += range == Range::AnySlice;
            blocks += range == Range::Block;
            if ((range == Range::Block && int(d) < s.outputs) || (range == Range::AnySlice && int(d) >= s.outputs))
                fail("loop", at(loop, "range"),
                     range == Range::Block ? "is a block, which only a reduced loop can be"
                                           : "is AnySlice, which only a dimension of the result can be");
        }
        if (slices > 1 || (any && (slices || any != s.outputs)))
            fail("loop", at(here, "loops"), "has more than one loop of which a rank does its slice");
        const bool by_blocks = blocks == 1 && s.outputs == 1 && s.loops[0].extent().kind() == ExtentKind::Ranks;
        if (s.kind == StageKind::BlockSum ? !by_blocks : blocks > 0)
            fail("loop", at(here, "kind"), "is BlockSum if and only if one loop runs over a block, the one of loop 0");
        for (size_t d = size_t(s.outputs); s.kind == StageKind::Fold && d < s.loops.size(); d++)
            if (s.loops[d].extent().kind() != ExtentKind::Ranks)
                fail("loop", at(at(here, "loops", d), "extent"), "of what is folded is not the number of ranks");
        if (s.kind == StageKind::Sweep && s.outputs != int(s.loops.size()))
            fail("loop", at(here, "outputs"), "is %d, a sweep of %zu loops has that many", s.outputs, s.loops.size());
    }

    void accesses(const std::string &here, const StageT &s) {
        std::set<int> read, written;
        for (size_t i = 0; i < s.accesses.size(); i++) {
            auto &a = *s.accesses[i];
            std::string access = at(here, "accesses", i);
            known(at(access, "from"), a.from);
            known(at(access, "how"), a.how);
            index("access", at(access, "buffer"), a.buffer, p.buffers.size(), "buffers");
            auto &b = *p.buffers[size_t(a.buffer)];
            const int least = a.from == From::Shift ? -(1 << 20) : 0;
            if ((a.from == From::Rank || a.from == From::Shift) && (a.rank < least || a.rank > 1 << 20))
                fail("access", at(access, "rank"), "is %d, not a rank", a.rank);
            if (a.reach.size() != b.extents.size())
                fail("access", at(access, "reach"), "has %zu dimensions, buffer %s has %zu", a.reach.size(),
                     b.name.c_str(), b.extents.size());
            for (int loop : a.reach)
                if (loop < -1 || loop >= int(s.loops.size()))
                    fail("access", at(access, "reach"), "is %d, the stage has %zu loops", loop, s.loops.size());
            if (a.how != How::Read) store(access, a, b, s);
            if (a.how == How::Read) read.insert(a.buffer);
            else if (!written.insert(a.buffer).second)
                fail("store", access, "is a second one to buffer %s", b.name.c_str());
        }
        if (written.empty()) fail("store", at(here, "accesses"), "writes nothing");
        for (int b : written)
            if (read.count(b))
                fail("access", at(here, "accesses"), "reads and writes buffer %s, and not in one Update",
                     p.buffers[size_t(b)]->name.c_str());
    }

    void store(const std::string &here, const StageAccessT &a, const BufferT &b, const StageT &s) {
        const char *label = b.name.c_str();
        if (b.argument >= 0 && p.arguments[size_t(b.argument)]->access == Access::Input)
            fail("store", here, "writes the input %s", label);
        if (a.from == From::Rank) fail("store", here, "writes to one rank's %s", label);
        if (a.how == How::Update && (s.kind != StageKind::Sweep || a.from == From::Shift))
            fail("store", here, "updates buffer %s in place, which only a sweep can do, on its own rank", label);
        if (int(b.extents.size()) != s.outputs)
            fail("store", here, "has %d dimensions, buffer %s has %zu", s.outputs, label, b.extents.size());
        bool divided = false, any = false;
        for (int d = 0; d < s.outputs; d++) {
            if (a.reach[size_t(d)] != d) fail("store", at(here, "reach"), "is not the element that the stage computes");
            divided |= s.loops[size_t(d)].range() != Range::Whole;
            any |= s.loops[size_t(d)].range() == Range::AnySlice;
        }
        if (b.sliced >= 0 && s.loops[size_t(b.sliced)].range() != Range::Slice)
            fail("store", here, "runs over more of buffer %s than this rank's slice", label);
        if (a.from == From::Each && b.sliced >= 0)
            fail("store", here, "goes to every rank, but buffer %s is sliced", label);
        if (a.from == From::Shift && (b.sliced >= 0 || divided))
            fail("store", here, "goes to one rank's %s, and a rank has only its slice", label);
        if (a.from == From::Each && !divided)
            fail("store", here, "writes all of buffer %s on every rank: no loop is a slice", label);
        if (a.from == From::Own && any)
            fail("store", here, "of a slice that the runtime chooses goes to the own buffer %s only", label);
    }

    // Every stage, sync and choice is in one place of the order.
    void items() {
        struct {
            const char *table;
            std::vector<int> places;
        } lists[] = {{"stages", std::vector<int>(p.stages.size())},
                     {"syncs", std::vector<int>(p.syncs.size())},
                     {"choices", std::vector<int>(p.choices.size())}};
        auto &stages = lists[int(ItemKind::Stage)].places;
        for (size_t i = 0; i < p.items.size(); i++) {
            const Item &item = p.items[i];
            known(at("items", i) + ".kind", item.kind());
            auto &[table, places] = lists[int(item.kind())];
            index("item", at("items", i) + ".index", item.index(), places.size(), table);
            places[size_t(item.index())]++;
        }
        for (size_t i = 0; i < p.choices.size(); i++) {
            std::string here = at("choices", i);
            const int arms[] = {p.choices[i].one_shot(), p.choices[i].two_phases()};
            for (int arm : arms) {
                index("item", here, arm, stages.size(), "stages");
                stages[size_t(arm)]++;
            }
            if (!same_computation(*p.stages[size_t(arms[0])], *p.stages[size_t(arms[1])]))
                fail("item", here, "has arms that do not compute the same");
        }
        for (size_t i = 0; i < p.syncs.size(); i++)
            for (int b : p.syncs[i]->buffers)
                index("item", at("syncs", i) + ".buffers", b, p.buffers.size(), "buffers");
        for (auto &[table, places] : lists)
            for (size_t i = 0; i < places.size(); i++)
                if (places[i] != 1) fail("item", at(table, i), "is executed in %d places", places[i]);
    }

    // Block sums that ride directly follow the sweep whose loops they reduce, and read of what it stores the same element.
    void riders() {
        const StageT *sweep = nullptr;
        for (auto &item : p.items) {
            const StageT *s = item.kind() == ItemKind::Stage ? p.stages[size_t(item.index())].get() : nullptr;
            if (!s || !s->rides) {
                sweep = s;
                continue;
            }
            if (!rides(*s, sweep))
                fail("item", at("stages", size_t(item.index())), "does not ride in the stage before it");
        }
        for (auto &c : p.choices)
            for (int arm : {c.one_shot(), c.two_phases()})
                if (p.stages[size_t(arm)]->rides) fail("item", at("stages", size_t(arm)), "rides, and is an arm");
    }

    static bool rides(const StageT &s, const StageT *sweep) {
        if (!sweep || sweep->kind != StageKind::Sweep || s.kind != StageKind::BlockSum) return false;
        if (s.loops.size() != sweep->loops.size() + 1 || s.loops[1].range() != Range::Block) return false;
        for (size_t d = 0; d < sweep->loops.size(); d++) {
            const Range range = sweep->loops[d].range(), expected = d ? Range::Whole : s.loops[0].range();
            if (!same(s.loops[d + 1].extent(), sweep->loops[d].extent()) || range != expected) return false;
        }
        for (auto &a : s.accesses)
            for (auto &of_sweep : sweep->accesses) {
                if (a->buffer != of_sweep->buffer || of_sweep->how == How::Read) continue;
                for (size_t d = 0; d < a->reach.size(); d++)
                    if (a->reach[d] != int(d) + 1) return false;
            }
        return true;
    }

    static bool same_computation(const StageT &one_shot, const StageT &two_phases) {
        for (auto &l : one_shot.loops)
            if (l.range() != Range::Whole) return false;
        for (auto &l : two_phases.loops)
            if (l.range() != Range::AnySlice) return false;
        auto same_access = [](auto &a, auto &b) { return a->buffer == b->buffer && a->how == b->how; };
        return one_shot.outputs == two_phases.outputs && one_shot.outputs > 0 &&
               std::equal(one_shot.loops.begin(), one_shot.loops.end(), two_phases.loops.begin(), two_phases.loops.end(),
                          [](auto &a, auto &b) { return same(a.extent(), b.extent()); }) &&
               std::equal(one_shot.accesses.begin(), one_shot.accesses.end(), two_phases.accesses.begin(),
                          two_phases.accesses.end(), same_access);
    }

    // What is neither an input nor stored by an earlier stage has no value to load.
    void order() {
        std::vector<bool> defined(p.buffers.size());
        for (auto &a : p.arguments)
            if (!a->scalar && a->access != Access::Output) defined[size_t(a->buffer)] = true;
        auto run = [&](int number) {
            auto &s = *p.stages[size_t(number)];
            for (size_t i = 0; i < s.accesses.size(); i++) {
                auto &a = *s.accesses[i];
                if (a.how == How::Write || defined[size_t(a.buffer)]) continue;
                fail("order", at("stages", size_t(number)) + at(".accesses", i),
                     "reads buffer %s, which no earlier stage stores", p.buffers[size_t(a.buffer)]->name.c_str());
            }
            for (auto &a : s.accesses)
                if (a->how != How::Read) defined[size_t(a->buffer)] = true;
        };
        for (auto &item : p.items) {
            if (item.kind() == ItemKind::Stage) run(item.index());
            if (item.kind() == ItemKind::Choice) run(p.choices[size_t(item.index())].one_shot());
        }
    }
};

}  // namespace

void check_stages(const PlanT &plan) { Stages(plan).run(); }

}  // namespace stretto::plan
