#include "collectives/execute/instance.h"

#include <algorithm>

#include "collectives/base/tuning.h"

namespace stretto::runtime {
namespace {

using plan::Collective;
using plan::From;
using plan::KernelT;
using plan::PlanT;
using plan::Range;
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
    Preparation(const PlanT &plan, Instance &instance, bool shared, std::string *error)
        : p(plan),
          in(instance),
          shared_(shared && instance.ranks > 1),
          messages_(!shared && instance.ranks > 1),
          error_(error) {}

    bool run(void **argv) {
        if (!bind_sizes(p, argv, in.rank, in.ranks, &in.sizes, &in.arguments, error_) || !buffers())
            return false;
        scalars();
        bool two_phase = false;
        for (auto &s : p.stages) {
            in.stages.emplace_back();
            if (!stage(*s, in.stages.back())) return false;
            two_phase |= in.stages.back().two_phase;
        }
        for (auto &s : in.stages)
            s.barrier = shared_ && (two_phase ? s.plan->barrier_two_phase : s.plan->barrier_one_shot);
        in.leave = shared_ && (two_phase ? p.leave_two_phase : p.leave_one_shot);
        if (shared_) carry_operands(p, in);
        if (messages_) carry_messages(p, in);
        describe(p, in);
        in.hosts.assign(p.arguments.size(), nullptr);
        return true;
    }

private:
    const PlanT &p;
    Instance &in;
    const bool shared_, messages_;
    std::string *error_;

    bool fail(const std::string &text) {
        *error_ = text;
        return false;
    }

    int64_t value(const plan::Extent &e) const { return value_of(e, in.sizes, in.ranks); }

    // ---- buffers

    bool check_size(const plan::BufferT &b, const Geometry &g) {
        int64_t bytes = g.element;
        for (int d = 0; d < g.dims; d++) {
            if (__builtin_mul_overflow(bytes, std::max<int64_t>(g.extent[d], 1), &bytes) ||
                bytes > int64_t(1) << 46)
                return fail("buffer " + b.name + " would have more than 2^46 bytes");
        }
        for (int d = 0; d < g.dims; d++) {
            if (g.extent[d] > 1 && g.stride[d] > INT32_MAX)
                return fail("buffer " + b.name +
                            " would have a stride of 2^31 elements or more, which kernels cannot have");
        }
        return true;
    }

    bool buffers() {
        for (size_t i = 0; i < p.buffers.size(); i++) {
            auto &b = *p.buffers[i];
            BufferInstance buffer;
            buffer.own = dense_geometry(p, in, int(i), in.rank);
            if (!check_size(b, buffer.own)) return false;
            buffer.published = shared_ && b.peers;
            if (buffer.published) {
                buffer.place = int(in.published.size());
                in.published.push_back(int(i));
            }
            // A published argument is dense, if need be as a copy, so that peers know where its elements are.
            if (b.argument >= 0 && !buffer.published) buffer.own = in.arguments[size_t(b.argument)];
            if (b.argument < 0) {
                uint64_t &end = buffer.published ? in.published_bytes : in.arena_bytes;
                buffer.offset = end;
                end += round_up(buffer.own.bytes());
            }
            in.buffers.push_back(buffer);
        }
        in.bases.assign(in.buffers.size() * size_t(in.ranks), nullptr);
        in.places.resize(in.published.size());
        return true;
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

    bool stage(const StageT &s, StageInstance &to) {
        to.plan = &s;
        to.outputs = s.outputs;
        std::vector<int64_t> extents;
        for (auto &l : s.loops) extents.push_back(value(l.extent()));
        int slice = -1;
        if (s.collective != Collective::None && two_phase(s, extents)) {
            to.two_phase = true;
            slice = dimension_to_slice(extents, s.outputs, in.ranks);
        }
        ranges(s, extents, slice, to);
        for (auto &t : s.stores) {
            auto &store = to.stores.emplace_back();
            store.buffer = t.buffer();
            store.all =
                (s.collective == Collective::None ? t.to() == plan::To::All : to.two_phase) && in.ranks > 1;
            to.sends_results |= store.all;
            auto &b = *p.buffers[size_t(t.buffer())];
            store.view.set_type(b.type);
            if (to.block_loop < 0) store.view.set_strides(in.buffers[size_t(t.buffer())].own);
            for (size_t d = 0; to.block_loop < 0 && d < b.extents.size(); d++) {
                if (value(b.extents[d]) == extents[d]) continue;
                return fail("stage " + stage_name(s) + ": " + b.name + " has extent " +
                            std::to_string(value(b.extents[d])) + " in dimension " + std::to_string(d) +
                            ", what is stored there has " + std::to_string(extents[d]));
            }
        }
        const plan::DirectT *direct = nullptr;
        for (auto &d : s.direct)
            if (d->ranks == in.ranks) direct = d.get();
        const bool sums = !direct && !s.sums.empty();
        to.streamed = to.sends_results && to.regions[size_t(in.rank)].elements() >= streamed_elements;
        const bool to_peers = shared_ && direct && direct->to_peers && to.sends_results && !to.streamed;
        cut(s, sums, to_peers, to);
        if (to_peers) store_to_peers(to);
        if (to_peers) return kernel(s, *direct->to_peers, to, to.main, -1) && count_bytes(to);
        if (direct) return kernel(s, *direct->kernel, to, to.main, -1) && count_bytes(to);
        for (auto &l : s.kernel->loads) {
            if (l.from() != From::Each) continue;
            std::string list;
            for (auto &d : s.direct) list += (list.empty() ? "" : ", ") + std::to_string(d->ranks);
            return fail("stage " + stage_name(s) + " has no kernel for " + std::to_string(in.ranks) +
                        " ranks, only for " + list);
        }
        if (sums && !peer_sums(s, to)) return false;
        return kernel(s, *s.kernel, to, to.main, -1) && count_bytes(to);
    }

    bool two_phase(const StageT &s, const std::vector<int64_t> &extents) {
        if (in.ranks == 1 || s.outputs == 0 || s.collective == Collective::OneShot) return false;
        if (s.collective == Collective::TwoPhase || messages_) return true;
        int64_t bytes = 0;
        auto each = [&](const KernelT &k) {
            for (auto &l : k.loads)
                if (l.from() == From::Each)
                    bytes = std::max<int64_t>(bytes, plan::bytes_of(p.buffers[size_t(l.buffer())]->type));
        };
        for (auto &k : s.sums) each(*k->kernel);
        for (auto &k : s.direct) each(*k->kernel);
        for (int d = 0; d < s.outputs; d++) bytes *= extents[size_t(d)];
        bool read_later = false;
        for (auto &later : p.stages) read_later |= later->barrier_two_phase;
        return bytes > one_shot_bytes(read_later);
    }

    void ranges(const StageT &s, const std::vector<int64_t> &extents, int slice, StageInstance &to) {
        for (size_t d = 0; d < s.loops.size(); d++) {
            Range range = int(d) == slice ? Range::Slice : s.loops[d].range();
            Block own =
                range == Range::Whole ? Block{0, extents[d]} : block_of(extents[d], in.rank, in.ranks);
            to.range[2 * d] = int32_t(own.begin), to.range[2 * d + 1] = int32_t(own.end);
            if (range != Range::OwnBlock && range != Range::EachBlock) continue;
            to.block_loop = int(d);
            to.block_extent = extents[d];
            to.first_block = range == Range::OwnBlock ? in.rank : 0;
            to.last_block = range == Range::OwnBlock ? in.rank + 1 : in.ranks;
        }
        for (int r = 0; r < in.ranks; r++) {
            Box region;
            if (to.block_loop >= 0) {
                region.dims = 1;
                region.lo[0] = r, region.hi[0] = r + 1;
            } else {
                region.dims = s.outputs;
                for (int d = 0; d < s.outputs; d++) {
                    bool part = d == slice || s.loops[size_t(d)].range() == Range::Slice;
                    Block b = part ? block_of(extents[size_t(d)], r, in.ranks) : Block{0, extents[size_t(d)]};
                    region.lo[d] = b.begin, region.hi[d] = b.end;
                }
            }
            to.regions.push_back(region);
        }
    }

    void store_to_peers(StageInstance &to) {
        for (auto &store : to.stores) {
            for (int i = 1; store.all && i < in.ranks; i++) {
                auto &peer = to.peer_stores.emplace_back();
                peer.buffer = store.buffer;
                peer.rank = (in.rank + i) % in.ranks;
                peer.view.set_type(p.buffers[size_t(store.buffer)]->type);
                peer.view.set_strides(in.buffers[size_t(store.buffer)].own);
            }
        }
    }

    void cut(const StageT &s, bool sums, bool to_peers, StageInstance &to) {
        int64_t most = INT64_MAX / 2;
        if (sums || (to.sends_results && !to_peers))
            most = s.kind == StageKind::Contract ? contraction_chunk_elements : chunk_elements;
        if (messages_ && (sums || to.sends_results || !s.direct.empty())) {
            int element = 1;
            for (auto &t : to.stores) element = std::max(element, in.buffers[size_t(t.buffer)].own.element);
            most = message_bytes / element;
        }
        for (auto &region : to.regions) to.chunks.emplace_back(region, most);
    }

    // The operand of peers is read where the stage stores: then only that region has to travel.
    bool elementwise(const StageT &s, const StageInstance &to, int buffer) const {
        auto &b = *p.buffers[size_t(buffer)];
        if (s.kind != StageKind::Sweep || b.sliced >= 0 || int(b.extents.size()) != s.outputs) return false;
        for (int d = 0; d < s.outputs; d++)
            if (value(b.extents[size_t(d)]) != value(s.loops[size_t(d)].extent())) return false;
        return to.block_loop < 0;
    }

    Transfer &transfer(const StageT &s, StageInstance &to, int buffer, int source) {
        for (auto &t : to.transfers)
            if (t.buffer == buffer && t.source == source) return t;
        Transfer t;
        t.buffer = buffer;
        t.source = source;
        t.chunked = elementwise(s, to, buffer);
        t.views.resize(size_t(in.ranks));
        t.offsets.resize(size_t(in.ranks));
        for (auto &chunks : t.chunks) chunks.resize(size_t(in.ranks));
        for (int q = 0; q < in.ranks && !t.chunked; q++) {
            if (q == in.rank || !t.from(q)) continue;
            t.offsets[size_t(q)] = in.arena_bytes;
            in.arena_bytes += round_up(geometry_of(p, in, buffer, q).bytes());
        }
        to.transfers.push_back(t);
        return to.transfers.back();
    }

    // A view of one load of one rank's buffer.
    void *view(const StageT &s, StageInstance &to, int buffer, int rank, int source) {
        View &view = in.views.emplace_back();
        view.set_type(p.buffers[size_t(buffer)]->type);
        view.show(geometry_of(p, in, buffer, rank), nullptr);
        if (rank == in.rank || !messages_) in.slots.push_back({&view, rank, buffer});
        else transfer(s, to, buffer, source).views[size_t(rank)].push_back(&view);
        return &view.buffer;
    }

    // The arguments of one kernel call. turn: the rank whose addend a peer sum adds, -1 for a stage's own kernel.
    bool kernel(const StageT &s, const KernelT &k, StageInstance &to, KernelCall &call, int turn) {
        call.kernel = k.id;
        for (size_t i = 0; i < 2 * s.loops.size(); i++) call.argv.push_back(&to.range[i]);
        if (turn >= 0) call.argv.push_back(turn == 0 ? &in.first : &in.first_of_others);
        for (int i : k.scalars) call.argv.push_back(&in.scalars[size_t(i)]);
        for (auto &l : k.loads) {
            switch (l.from()) {
            case From::Own: call.argv.push_back(view(s, to, l.buffer(), in.rank, in.rank)); break;
            case From::Sum: call.argv.push_back(&to.sums[size_t(l.rank())].chunk.buffer); break;
            case From::Rank:
                if (l.rank() >= in.ranks) {
                    return fail("stage " + stage_name(s) + " loads " + p.buffers[size_t(l.buffer())]->name +
                                " from rank " + std::to_string(l.rank()) + "; there are " +
                                std::to_string(in.ranks) + " ranks");
                }
                if (messages_) transfer(s, to, l.buffer(), l.rank());  // the root sends, whoever it is
                call.argv.push_back(view(s, to, l.buffer(), l.rank(), l.rank()));
                break;
            case From::Each:
                if (messages_) transfer(s, to, l.buffer(), -1);  // on every rank in the order of the loads
                if (turn >= 0) call.argv.push_back(view(s, to, l.buffer(), turn, -1));
                for (int q = 0; turn < 0 && q < in.ranks; q++)
                    call.argv.push_back(view(s, to, l.buffer(), q, -1));
                break;
            }
            if (l.from() == From::Each || (l.from() == From::Rank && l.rank() != in.rank))
                load(s, to, l, turn);
        }
        if (turn >= 0) return true;
        for (auto &t : to.stores) call.argv.push_back(&t.view.buffer);
        for (auto &t : to.peer_stores) call.argv.push_back(&t.view.buffer);
        return true;
    }

    // Counts what is loaded from peers' memory.
    void load(const StageT &s, StageInstance &to, const plan::Load &l, int turn) {
        if (!shared_ || turn == in.rank) return;
        for (int q = 0; q < in.ranks; q++) {
            if (q == in.rank || (turn >= 0 && q != turn) || (l.from() == From::Rank && q != l.rank()))
                continue;
            Geometry g = geometry_of(p, in, l.buffer(), q);
            int64_t n =
                elementwise(s, to, l.buffer()) ? to.regions[size_t(in.rank)].elements() : g.elements();
            to.bytes_loaded += uint64_t(n * g.element);
        }
    }

    bool peer_sums(const StageT &s, StageInstance &to) {
        for (auto &sum : s.sums) {
            auto &made = to.sums.emplace_back();
            made.element = plan::bytes_of(sum->type);
            made.chunk.set_type(sum->type);
            made.offset = in.arena_bytes;
            in.arena_bytes += round_up(uint64_t(to.chunks[size_t(in.rank)].largest() * made.element));
            made.calls.resize(size_t(in.ranks));
            for (int r = 0; r < in.ranks; r++) {
                if (!kernel(s, *sum->kernel, to, made.calls[size_t(r)], r)) return false;
                made.calls[size_t(r)].argv.push_back(&made.chunk.buffer);
            }
        }
        return true;
    }

    bool count_bytes(StageInstance &to) {
        if (!shared_) return true;
        for (auto &t : to.stores)
            if (t.all)
                to.bytes_stored += uint64_t(to.regions[size_t(in.rank)].elements() *
                                            in.buffers[size_t(t.buffer)].own.element) *
                                   uint64_t(in.ranks - 1);
        return true;
    }
};

}  // namespace

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
                                  int ranks, bool shared, std::string *error) {
    auto instance = std::make_unique<Instance>();
    instance->shape = shape;
    instance->rank = rank;
    instance->ranks = ranks;
    if (!Preparation(program.plan, *instance, shared, error).run(argv)) return nullptr;
    return instance;
}

std::string stage_name(const StageT &stage) {
    std::string s;
    for (auto &n : stage.names) s += (s.empty() ? "" : ", ") + n;
    return s.empty() ? "without a name" : s;
}

}  // namespace stretto::runtime
