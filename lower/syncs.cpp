#include "lower/syncs.h"
#include "collectives/plan/touch.h"

namespace stretto {

namespace {

using ByBuffer = std::map<int, plan::Touches>;

// At the rank's slice of which dimension?
int slice_of(const Lowering &l, const Stage &s, const StageAccess &a) {
    const Dims &dims = l.buffers[size_t(a.buffer)].dims;
    for (size_t d = 0; d < dims.size(); d++) {
        if (a.reach[d] < 0) continue;
        const Loop &loop = s.loops[size_t(a.reach[d])];
        if (at_own_slice(s, loop) && loop.extent == dims[d]) return int(d);
    }
    return plan::anywhere;
}

// How an item may touch buffers, and how it does whichever arm is taken.
struct Touched {
    ByBuffer may, must;

    Touched(const Lowering &l, const std::vector<const Stage *> &stages) {
        for (auto *s : stages)
            for (auto &a : s->accesses) may[a.buffer] |= plan::touches_of(a.from, a.how(), slice_of(l, *s, a));
        must = may;
    }
    Touched(const Lowering &l, const Choice &c) : Touched(l, {&c.one_shot}) {
        Touched other(l, {&c.two_phases});
        for (auto &[buffer, bits] : must) bits &= other.may.count(buffer) ? other.may[buffer] : 0;
        for (auto &[buffer, bits] : other.may) may[buffer] |= bits;
    }
    Touched() = default;
};

class Derivation {
    Touched since;  // the last wait

    static plan::Touches clashing(const ByBuffer &before, int buffer, plan::Touches after) {
        auto it = before.find(buffer);
        return it == before.end() ? 0 : plan::clashing(it->second, after);
    }

public:
    std::vector<Item> items;

    void before(const Touched &next) {
        Sync sync{{}, false};
        for (auto &[buffer, bits] : next.may)
            if (clashing(since.may, buffer, bits)) sync.buffers.push_back(buffer);
        for (auto &[buffer, bits] : next.must) sync.always |= clashing(since.must, buffer, bits) != 0;
        if (!sync.buffers.empty()) {
            // Where it is left out, what would have clashed on every path has not been touched.
            for (auto &[buffer, bits] : next.must) since.may[buffer] &= ~clashing(since.may, buffer, bits);
            since.must.clear();
            if (sync.always) since.may.clear();
            items.push_back(sync);
        }
        for (auto &[buffer, bits] : next.may) since.may[buffer] |= bits;
        for (auto &[buffer, bits] : next.must) since.must[buffer] |= bits;
    }
};

}  // namespace

void derive_syncs(Lowering &l) {
    Derivation d;
    for (size_t i = 0; i < l.items.size(); i++) {
        if (auto *c = std::get_if<Choice>(&l.items[i])) d.before(Touched(l, *c));
        // With what rides in it: no wait is between them.
        if (auto *s = std::get_if<Stage>(&l.items[i]); s && !s->rides) d.before(Touched(l, with_riders(l.items, i)));
        d.items.push_back(l.items[i]);
    }
    Touched caller;
    for (size_t b = 0; b < l.buffers.size(); b++)
        caller.may[int(b)] = caller.must[int(b)] = plan::touch(plan::Touch::OwnWrite, plan::anywhere);
    d.before(caller);
    l.items = std::move(d.items);
}

}  // namespace stretto
