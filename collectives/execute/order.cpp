// Which stages a call executes, where ranks wait, and where scratch is meanwhile.
#include <algorithm>

#include "collectives/base/error.h"
#include "collectives/base/tuning.h"
#include "collectives/execute/instance.h"
#include "collectives/plan/touch.h"

namespace stretto::runtime {
namespace {

using plan::From;
using plan::How;
using plan::ItemKind;
using plan::PlanT;
using plan::StageT;

bool in_two_phases(const PlanT &p, const Instance &in, const StageT &one_shot) {
    if (in.ranks == 1) return false;
    int64_t bytes = 0;
    for (auto &a : one_shot.accesses)
        if (a->how == How::Read && a->from == From::Each)
            bytes = std::max<int64_t>(bytes, plan::bytes_of(p.buffers[size_t(a->buffer)]->type));
    for (int d = 0; d < one_shot.outputs; d++) bytes *= value_of(one_shot.loops[size_t(d)].extent(), in.sizes, in.ranks);
    bool read_later = false;
    for (size_t i = 0; i + 1 < p.items.size(); i++) read_later |= p.items[i].kind() == ItemKind::Sync;
    return bytes > one_shot_bytes(read_later);
}

// What is never needed at the same time shares memory.
class Scratch {
public:
    // Needed from stage `first` to stage `last`, both included. *offset is set by place(). What no stage needs has no place.
    void need(uint64_t bytes, int first, int last, uint64_t *offset) {
        if (first > last) return;
        needs_.push_back({round_up(bytes), first, last, offset});
    }

    // Finds offsets, multiples of 64, and returns how many bytes that takes.
    uint64_t place() {
        uint64_t end = 0;
        for (size_t i = 0; i < needs_.size(); i++) {
            Need &n = needs_[i];
            std::vector<const Need *> others;  // placed, and needed at the same time
            for (size_t j = 0; j < i; j++)
                if (needs_[j].first <= n.last && n.first <= needs_[j].last) others.push_back(&needs_[j]);
            std::sort(others.begin(), others.end(), [](auto *a, auto *b) { return *a->offset < *b->offset; });
            *n.offset = 0;
            for (auto *o : others) {
                if (*n.offset + n.bytes <= *o->offset) break;
                *n.offset = std::max(*n.offset, *o->offset + o->bytes);
            }
            end = std::max(end, *n.offset + n.bytes);  // of two sums that are below 2^63
            if (end > most_bytes) throw Refusal("its scratch would have more than 2^46 bytes");
        }
        return end;
    }

private:
    struct Need {
        uint64_t bytes;
        int first, last;
        uint64_t *offset;
    };
    std::vector<Need> needs_;
};

}  // namespace

void choose_stages(const PlanT &p, Instance &in) {
    for (auto &item : p.items) {
        if (item.kind() == ItemKind::Stage) in.chosen.push_back(item.index());
        if (item.kind() != ItemKind::Choice) continue;
        auto &choice = p.choices[size_t(item.index())];
        const bool two_phases = in.messages || in_two_phases(p, in, *p.stages[size_t(choice.one_shot())]);
        in.chosen.push_back(two_phases ? choice.two_phases() : choice.one_shot());
    }
}

void find_waits(const PlanT &p, Instance &in) {
    std::vector<plan::Touches> since(p.buffers.size());  // how each buffer was touched since the last wait
    std::vector<std::pair<int, plan::Touches>> next;
    const plan::SyncT *sync = nullptr;  // that is just before it
    auto before = [&](const std::string &what) {
        bool clashes = false;
        for (auto &[buffer, touches] : next) {
            if (!plan::clashing(since[size_t(buffer)], touches)) continue;
            clashes = true;
            if (sync && std::count(sync->buffers.begin(), sync->buffers.end(), buffer)) continue;
            throw Refusal(what + " needs a sync before it: another rank may be at " + p.buffers[size_t(buffer)]->name);
        }
        if (clashes) since.assign(since.size(), 0);
        for (auto &[buffer, touches] : next) since[size_t(buffer)] |= touches;
        in.waits.push_back(clashes);
        next.clear();
        sync = nullptr;
    };
    size_t stages = 0;
    for (auto &item : p.items) {
        if (item.kind() == ItemKind::Sync) {
            sync = p.syncs[size_t(item.index())].get();
            continue;
        }
        const size_t number = stages++;
        const StageT &stage = *p.stages[size_t(in.chosen[number])];
        if (stage.rides) {
            in.waits.push_back(false);
            continue;
        }
        for (size_t k = number; k < in.chosen.size(); k++) {  // with what rides in it
            const StageT &s = *p.stages[size_t(in.chosen[k])];
            if (k > number && !s.rides) break;
            for (auto &a : s.accesses) next.push_back({a->buffer, plan::touches_of(a->from, a->how, plan::slice_of(p, s, *a))});
        }
        before("stage " + stage_name(stage));
    }
    for (size_t b = 0; b < p.buffers.size(); b++)  // the caller
        next.push_back({int(b), plan::touch(plan::Touch::OwnWrite, plan::anywhere)});
    before("the end");
}

void place_scratch(const PlanT &p, Instance &in) {
    const int stages = int(in.stages.size());
    std::vector<int> first(p.buffers.size(), stages), last(p.buffers.size(), -1);
    for (int i = 0, begin = 0; i < stages; i++) {
        if (!in.stages[size_t(i)].plan->rides) begin = i;
        int end = i;  // a sweep and what rides in it go on at the same time
        while (end + 1 < stages && in.stages[size_t(end) + 1].plan->rides) end++;
        for (auto &a : in.stages[size_t(i)].plan->accesses) {
            first[size_t(a->buffer)] = std::min(first[size_t(a->buffer)], begin);
            last[size_t(a->buffer)] = end;
        }
    }
    Scratch own, published;
    for (size_t b = 0; b < p.buffers.size(); b++) {
        if (p.buffers[b]->argument >= 0) continue;
        auto &buffer = in.buffers[b];
        int end = last[b];
        while (buffer.published && end + 1 < stages && !in.waits[size_t(end) + 1]) end++;
        (buffer.published ? published : own).need(buffer.own.bytes(), first[b], end, &buffer.offset);
    }
    for (int i = 0; i < stages; i++) {
        auto &stage = in.stages[size_t(i)];
        for (auto &sum : stage.sums)
            own.need(uint64_t(stage.chunks[size_t(in.rank)].largest() * sum.element), i, i, &sum.offset);
        for (auto &store : stage.stores)
            if (store.rank < 0) own.need(in.buffers[size_t(store.buffer)].own.bytes(), i, i, &store.offset);
        for (auto &t : stage.transfers)
            for (int q = 0; q < in.ranks && !t.chunked; q++)
                if (!in.near[size_t(q)] && t.from(q, in.rank))
                    own.need(geometry_of(p, in, t.buffer, q).bytes(), i, i, &t.offsets[size_t(q)]);
    }
    in.arena_bytes = own.place();
    in.published_bytes = published.place();
}

}  // namespace stretto::runtime
