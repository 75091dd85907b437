#include "collectives/execute/instance.h"

#include <algorithm>

#include "collectives/base/error.h"
#include "collectives/base/tuning.h"

namespace stretto::runtime {
namespace {

using plan::From;
using plan::How;
using plan::KernelT;
using plan::PlanT;
using plan::Range;
using plan::StageAccessT;
using plan::StageKernelsT;
using plan::StageKind;
using plan::StageT;

// The outermost dimension that gives every rank a few rows, else the longest: slices in one piece are cheapest to copy.
int dimension_to_slice(const std::vector<int64_t> &extents, int outputs, int ranks) {
    int longest = 0;
    for (int d = 0; d < outputs; d++) {
        if (extents[size_t(d)] >= 4 * ranks) return d;
        if (extents[size_t(d)] > extents[size_t(longest)]) longest = d;
    }
    return longest;
}

class Preparation {
public:
    Preparation(const PlanT &plan, Instance &instance) : p(plan), in(instance) {}

    void run(void **argv) {
        bind_sizes(p, argv, in.rank, in.ranks, &in.sizes, &in.arguments);
        choose_stages(p, in);
        find_waits(p, in);
        buffers();
        scalars();
        for (size_t i = 0; i < in.chosen.size(); i++) {
            const size_t number = size_t(in.chosen[i]);
            in.stages.emplace_back();
            in.stages.back().barrier = in.windows && in.waits[i];
            carries_ = i + 1 < in.chosen.size() && p.stages[size_t(in.chosen[i + 1])]->rides;
            stage(*p.stages[number], *p.cpu->stages[number], in.stages.back());
        }
        StageInstance *sweep = nullptr;
        for (auto &s : in.stages) {
            if (s.plan->rides) sweep->riders.push_back(&s);
            else sweep = &s;
        }
        in.leave = in.windows && in.waits.back();
        if (in.windows && !in.messages) carry_operands(p, in);
        if (in.messages) carry_messages(p, in);
        describe(p, in);
        place_scratch(p, in);
        in.hosts.assign(p.arguments.size(), nullptr);
    }

private:
    const PlanT &p;
    Instance &in;
    bool carries_ = false;  // do block sums ride in the stage?

    int64_t value(const plan::Extent &e) const { return value_of(e, in.sizes, in.ranks); }

    // ---- buffers

    static void check_size(const plan::BufferT &b, const Geometry &g) {
        int64_t bytes = g.element;
        for (int d = 0; d < g.dims; d++)
            if (__builtin_mul_overflow(bytes, std::max<int64_t>(g.extent[d], 1), &bytes) || bytes > int64_t(most_bytes))
                throw Refusal("buffer " + b.name + " would have more than 2^46 bytes");
        for (int d = 0; d < g.dims; d++)
            if (g.extent[d] > 1 && g.stride[d] > INT32_MAX)
                throw Refusal("buffer " + b.name +
                              " would have a stride of 2^31 elements or more, which kernels cannot have");
    }

    void buffers() {
        std::vector<bool> reached(p.buffers.size());
        for (int number : in.chosen)
            for (auto &a : p.stages[size_t(number)]->accesses)
                if (a->from != From::Own) reached[size_t(a->buffer)] = true;
        for (size_t i = 0; i < p.buffers.size(); i++) {
            auto &b = *p.buffers[i];
            BufferInstance buffer;
            buffer.own = dense_geometry(p, in, int(i), in.rank);
            check_size(b, buffer.own);
            buffer.published = in.windows && reached[i];
            if (buffer.published) in.published.push_back(int(i));
            // A published argument is dense, if need be as a copy, so that peers know where its elements are.
            if (b.argument >= 0 && !buffer.published) buffer.own = in.arguments[size_t(b.argument)];
            in.buffers.push_back(buffer);
        }
        in.bases.assign(in.buffers.size() * size_t(in.ranks), nullptr);
        in.places.resize(in.published.size());
    }

    // ---- scalars

    void scalars() {
        in.scalars.assign(p.scalars.size(), 0);
        for (auto &size : in.sizes) in.scalar_argv.push_back(&size);
        in.scalar_argv.push_back(&in.ranks);
        in.scalar_argv.push_back(&in.rank);
        for (size_t i = 0; i < p.scalars.size(); i++) {
            View &view = in.views.emplace_back();
            view.set_type(p.scalars[i]->type);
            view.buffer.host = reinterpret_cast<uint8_t *>(&in.scalars[i]);
            in.scalar_argv.push_back(&view.buffer);
        }
        in.first = 1;
    }

    // ---- stages

    void stage(const StageT &s, const StageKernelsT &kernels, StageInstance &to) {
        to.plan = &s;
        to.outputs = s.outputs;
        std::vector<int64_t> extents;
        for (auto &l : s.loops) extents.push_back(value(l.extent()));
        ranges(s, extents, to);
        for (auto &a : s.accesses) {
            if (a->how == How::Read) continue;
            auto &store = add_store(a->buffer, in.rank, to.stores);
            receivers(*a, store);
            to.sends_results |= a->from != From::Own && in.ranks > 1;
            auto &b = *p.buffers[size_t(a->buffer)];
            for (size_t d = 0; d < b.extents.size(); d++) {
                if (value(b.extents[d]) == extents[d]) continue;
                throw Refusal("stage " + stage_name(s) + ": " + b.name + " has extent " +
                              std::to_string(value(b.extents[d])) + " in dimension " + std::to_string(d) +
                              ", what is stored there has " + std::to_string(extents[d]));
            }
        }
        const plan::DirectT *direct = nullptr;
        for (auto &d : kernels.direct)
            if (d->ranks == in.ranks) direct = d.get();
        const bool sums = !direct && !kernels.sums.empty();
        const int64_t elements = to.regions[size_t(in.rank)].elements();
        to.streamed = to.sends_results && elements >= streamed_elements;
        const bool to_peers = !in.messages && direct && direct->to_peers && to.sends_results && !to.streamed;
        cut(s, sums, to_peers, to);
        operands(s, to);
        auto to_all = [&](auto &store) { return std::count(store.to.begin(), store.to.end(), true) == in.ranks; };
        for (auto &store : to.stores)
            for (int i = 1; to_peers && to_all(store) && i < in.ranks; i++)
                add_store(store.buffer, (in.rank + i) % in.ranks, to.peer_stores);
        for (auto &store : to.stores)
            for (int q = 0; q < in.ranks; q++)
                if (store.to[size_t(q)] && q != in.rank && in.near[size_t(q)])
                    to.bytes_stored += uint64_t(elements * in.buffers[size_t(store.buffer)].own.element);
        if (direct) {
            kernel(s, to_peers ? *direct->to_peers : *direct->kernel, to, to.main, -1);
            return;
        }
        for (int i : kernels.kernel->loads) {
            if (s.accesses[size_t(i)]->from != From::Each) continue;
            std::string list;
            for (auto &d : kernels.direct) list += (list.empty() ? "" : ", ") + std::to_string(d->ranks);
            throw Refusal("stage " + stage_name(s) + " has no kernel for " + std::to_string(in.ranks) +
                          " ranks, only for " + list);
        }
        if (sums) peer_sums(s, kernels, to);
        kernel(s, *kernels.kernel, to, to.main, -1);
    }

    void ranges(const StageT &s, const std::vector<int64_t> &extents, StageInstance &to) {
        std::vector<bool> part(s.loops.size());
        for (size_t d = 0; d < s.loops.size(); d++) {
            part[d] = s.loops[d].range() == Range::Slice;
            if (s.loops[d].range() == Range::Block) to.block_loop = int(d), to.block_extent = extents[d];
        }
        if (s.outputs && s.loops[0].range() == Range::AnySlice)
            part[size_t(dimension_to_slice(extents, s.outputs, in.ranks))] = true;
        auto block = [&](size_t d, int rank) {
            return part[d] ? block_of(extents[d], rank, in.ranks) : Block{0, extents[d]};
        };
        for (size_t d = 0; d < s.loops.size(); d++) {
            Block own = block(d, in.rank);
            to.range[2 * d] = int32_t(own.begin), to.range[2 * d + 1] = int32_t(own.end);
        }
        for (int r = 0; r < in.ranks; r++) {
            Box region;
            region.dims = s.outputs;
            for (int d = 0; d < s.outputs; d++) {
                Block b = block(size_t(d), r);
                region.lo[d] = b.begin, region.hi[d] = b.end;
            }
            to.regions.push_back(region);
        }
    }

    // Sets who gets what the access stores, and to whom of them the kernel stores it: this rank, else one that it reaches.
    void receivers(const StageAccessT &a, StoreInstance &store) {
        for (int q = 0; q < in.ranks; q++) {
            const int there = source_of(a, q, in.ranks), here = source_of(a, in.rank, in.ranks);
            store.to.push_back(there == in.rank || there < 0);
            store.from.push_back(here == q || here < 0);
        }
        for (int i = 0; i < in.ranks; i++) {
            store.rank = (in.rank + i) % in.ranks;
            if (store.to[size_t(store.rank)] && in.near[size_t(store.rank)]) return;
        }
        store.rank = -1;
    }

    StoreInstance &add_store(int buffer, int rank, std::deque<StoreInstance> &list) {
        auto &store = list.emplace_back();
        store.buffer = buffer;
        store.rank = rank;
        store.view.set_type(p.buffers[size_t(buffer)]->type);
        store.view.set_strides(in.buffers[size_t(buffer)].own);
        return store;
    }

    void cut(const StageT &s, bool sums, bool to_peers, StageInstance &to) {
        // Kernels round an extent up to whole vectors, in 32 bits.
        constexpr int64_t everything = int64_t(1) << 30;
        int64_t most = everything;
        bool loads = false;
        for (auto &a : s.accesses) loads |= a->how == How::Read && a->from == From::Each;
        if (sums || (to.sends_results && !to_peers))
            most = s.kind == StageKind::Contract ? contraction_chunk_elements : chunk_elements;
        if (in.messages && (loads || to.sends_results)) {
            int element = 1;
            for (auto &t : to.stores) element = std::max(element, in.buffers[size_t(t.buffer)].own.element);
            most = message_bytes / element;
        }
        if (to.block_loop >= 0) most = 1;  // one block a call
        const int blocks = s.outputs && s.loops[0].range() == Range::Slice ? 1 : in.ranks;
        for (auto &region : to.regions) {
            if (carries_ && !s.rides)
                to.chunks.emplace_back(region, most == everything ? plan::sub_block : most, blocks, plan::sub_block);
            else
                to.chunks.emplace_back(region, most);
        }
    }

    // Is of other ranks' memory the element read that the stage stores? Then only that region has to travel.
    bool elementwise(const StageT &s, const StageAccessT &a) const {
        if (p.buffers[size_t(a.buffer)]->sliced >= 0 || int(a.reach.size()) != s.outputs) return false;
        for (int d = 0; d < s.outputs; d++)
            if (a.reach[size_t(d)] != d) return false;
        return true;
    }

    // What is loaded from other ranks: counted, and on messages sent, in the order of accesses on every rank.
    void operands(const StageT &s, StageInstance &to) {
        for (size_t i = 0; i < s.accesses.size(); i++) {
            auto &a = *s.accesses[i];
            if (a.how != How::Read || a.from == From::Own) continue;
            if (a.from == From::Rank && a.rank >= in.ranks) {
                throw Refusal("stage " + stage_name(s) + " loads " + p.buffers[size_t(a.buffer)]->name + " from rank " +
                              std::to_string(a.rank) + "; there are " + std::to_string(in.ranks) + " ranks");
            }
            Transfer t;
            t.access = int(i);
            t.buffer = a.buffer;
            for (int q = 0; q < in.ranks; q++) t.sources.push_back(source_of(a, q, in.ranks));
            t.chunked = elementwise(s, a);
            for (int q = 0; q < in.ranks; q++) {
                if (q == in.rank || !in.near[size_t(q)] || !t.from(q, in.rank)) continue;
                Geometry g = geometry_of(p, in, a.buffer, q);
                int64_t n = t.chunked ? to.regions[size_t(in.rank)].elements() : g.elements();
                to.bytes_loaded += uint64_t(n * g.element);
            }
            if (!in.messages) continue;
            t.views.resize(size_t(in.ranks));
            t.offsets.resize(size_t(in.ranks));
            for (auto &chunks : t.chunks) chunks.resize(size_t(in.ranks));
            to.transfers.push_back(t);
        }
    }

    // What a loop runs over on this rank.
    Block range_of(const StageT &s, const StageInstance &to, int loop) const {
        const Box &region = to.regions[size_t(in.rank)];
        if (loop < s.outputs) return {region.lo[loop], region.hi[loop]};
        if (loop == to.block_loop && s.loops[0].range() == Range::Slice) return block_of(to.block_extent, in.rank, in.ranks);
        return {to.range[2 * loop], to.range[2 * loop + 1]};
    }

    // A kernel does not look whether what it loads is there.
    void check_load(const StageT &s, const StageInstance &to, const StageAccessT &a, int rank) const {
        const Geometry g = geometry_of(p, in, a.buffer, rank);
        if (to.regions[size_t(in.rank)].empty()) return;
        for (int d = 0; d < g.dims; d++) {
            if (a.reach[size_t(d)] < 0) continue;
            const Block needed = range_of(s, to, a.reach[size_t(d)]), there{g.begin[d], g.begin[d] + g.extent[d]};
            if (needed.begin >= needed.end || (needed.begin >= there.begin && needed.end <= there.end)) continue;
            auto range = [](const Block &b) { return "[" + std::to_string(b.begin) + ", " + std::to_string(b.end) + ")"; };
            throw Refusal("stage " + stage_name(s) + " loads " + range(needed) + " of dimension " + std::to_string(d) + " of " +
                          p.buffers[size_t(a.buffer)]->name + "; rank " + std::to_string(rank) + " has " + range(there));
        }
    }

    // A view of what one access reads of one rank's buffer.
    void *view(const StageT &s, StageInstance &to, int access, int rank) {
        const int buffer = s.accesses[size_t(access)]->buffer;
        check_load(s, to, *s.accesses[size_t(access)], rank);
        View &view = in.views.emplace_back();
        view.set_type(p.buffers[size_t(buffer)]->type);
        view.show(geometry_of(p, in, buffer, rank), nullptr);
        if (in.near[size_t(rank)]) {
            in.slots.push_back({&view, rank, buffer});
            return &view.buffer;
        }
        for (auto &t : to.transfers)
            if (t.access == access) t.views[size_t(rank)].push_back(&view);
        return &view.buffer;
    }

    // The arguments of one kernel call. turn: the rank whose addend a peer sum adds, -1 for a stage's own kernel.
    void kernel(const StageT &s, const KernelT &k, StageInstance &to, KernelCall &call, int turn) {
        call.kernel = k.id;
        for (size_t i = 0; i < 2 * s.loops.size(); i++) call.argv.push_back(&to.range[i]);
        if (turn >= 0) call.argv.push_back(turn == 0 ? &in.first : &in.first_of_others);
        if (s.rides) call.argv.push_back(&to.first);
        for (int i : k.scalars) call.argv.push_back(&in.scalars[size_t(i)]);
        for (int i : k.loads) {
            auto &a = *s.accesses[size_t(i)];
            const bool own = a.from == From::Own || a.how == How::Update;  // a sum over ranks may load what is updated later
            if (own) call.argv.push_back(view(s, to, i, in.rank));
            const int source = source_of(a, in.rank, in.ranks);
            if (!own && source >= 0) call.argv.push_back(view(s, to, i, source));
            for (int q = 0; !own && source < 0 && q < in.ranks; q++)
                if (turn < 0 || q == turn) call.argv.push_back(view(s, to, i, q));
        }
        for (int i : k.sums) call.argv.push_back(&to.sums[size_t(i)].chunk.buffer);
        if (turn >= 0) return;
        if (s.rides) call.argv.push_back(&to.stores[0].view.buffer);
        for (auto &t : to.stores) call.argv.push_back(&t.view.buffer);
        for (auto &t : to.peer_stores) call.argv.push_back(&t.view.buffer);
    }

    void peer_sums(const StageT &s, const StageKernelsT &kernels, StageInstance &to) {
        for (auto &sum : kernels.sums) {
            auto &made = to.sums.emplace_back();
            made.element = plan::bytes_of(sum->type);
            made.chunk.set_type(sum->type);
            made.calls.resize(size_t(in.ranks));
            for (int r = 0; r < in.ranks; r++) {
                kernel(s, *sum->kernel, to, made.calls[size_t(r)], r);
                made.calls[size_t(r)].argv.push_back(&made.chunk.buffer);
            }
        }
    }
};

}  // namespace

int source_of(const StageAccessT &a, int reader, int ranks) {
    if (a.from == From::Own) return reader;
    if (a.from == From::Each) return -1;
    if (a.from == From::Rank) return a.rank;
    const int there = reader + a.rank % ranks;
    if (a.cyclic) return (there + ranks) % ranks;
    return reader + a.rank < 0 || reader + a.rank >= ranks ? reader : there;
}

Geometry dense_geometry(const PlanT &p, const Instance &in, int buffer, int rank) {
    auto &b = *p.buffers[size_t(buffer)];
    Geometry g;
    g.dims = int(b.extents.size());
    g.element = plan::bytes_of(b.type);
    for (int d = 0; d < g.dims; d++) {
        int64_t n = value_of(b.extents[size_t(d)], in.sizes, in.ranks);
        Block block = d == b.sliced ? block_of(n, rank, in.ranks) : Block{0, n};
        g.begin[d] = block.begin, g.extent[d] = block.end - block.begin;
    }
    g.pack();
    return g;
}

Geometry geometry_of(const PlanT &p, const Instance &in, int buffer, int rank) {
    return rank == in.rank ? in.buffers[size_t(buffer)].own : dense_geometry(p, in, buffer, rank);
}

std::unique_ptr<Instance> prepare(const Program &program, const Shape &shape, void **argv, int rank,
                                  const std::vector<int> &hosts) {
    auto instance = std::make_unique<Instance>();
    instance->shape = shape;
    instance->rank = rank;
    instance->ranks = int(hosts.size());
    for (int host : hosts) {
        instance->near.push_back(host == hosts[size_t(rank)]);
        instance->windows |= std::count(hosts.begin(), hosts.end(), host) > 1;
        instance->messages |= host != hosts[0];
    }
    Preparation(program.plan, *instance).run(argv);
    return instance;
}

std::string stage_name(const StageT &stage) { return stage.names.empty() ? std::string("without a name") : stage.names; }

}  // namespace stretto::runtime
