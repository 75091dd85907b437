// A program for one shape of its arguments on one rank: ranges, views and argument lists of every kernel call, all that
// does not change from call to call. Running it allocates nothing on shared memory.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "collectives/execute/bind.h"
#include "collectives/execute/cache.h"
#include "collectives/execute/chunk.h"
#include "collectives/execute/geometry.h"
#include "collectives/transport/transport.h"

namespace stretto::runtime {

struct BufferInstance {
    Geometry own;            // this rank's part
    bool published = false;  // peers reach it: stored densely, where they know
    uint64_t offset = 0;     // in the arena, for scratch buffers
    int carried = -1;        // where among the operands that go with the enter, if it does
};

// One kernel call's arguments; they point into the instance, which fills in what changes.
struct KernelCall {
    int kernel = 0;
    std::vector<void *> argv;
};

// A sum over ranks into a chunk of scratch: one call a rank, in rank order.
struct SumInstance {
    View chunk;
    int element = 0;      // bytes
    uint64_t offset = 0;  // in the arena
    std::vector<KernelCall> calls;
};

// A store to a buffer. The kernel stores to that of one rank, from where it is copied to other ranks that get it.
struct StoreInstance {
    View view;
    int buffer = 0, rank = 0;    // -1: to scratch, where no rank that gets it is reached by address
    uint64_t offset = 0;         // in the arena, of that
    std::vector<bool> to, from;  // by rank: who gets it from here, and who stores to this rank's buffer so
};

// What ranks that exchange messages send before a stage can load it. Chunked: of each chunk the receiver computes, that
// region; else all that the sender has.
struct Transfer {
    int access = 0, buffer = 0;
    std::vector<int> sources;  // by reader the rank it comes from; -1: from every rank
    bool chunked = false;
    std::vector<std::vector<View *>> views;  // by source: those that show what it sent
    std::vector<uint64_t> offsets;           // in the arena, by source, when not chunked
    std::vector<const uint8_t *> chunks[2];  // what has come for a chunk, by its parity and by source
    bool from(int source, int reader) const {
        return sources[size_t(reader)] < 0 || sources[size_t(reader)] == source;
    }
};

struct StageInstance {
    const plan::StageT *plan = nullptr;
    bool barrier = false;  // a wait before it
    int outputs = 0;
    int block_loop = -1;  // the loop that runs over the block that loop 0 counts, if any
    int64_t block_extent = 0;
    int32_t range[2 * max_dims] = {};  // lo, hi of each loop, as the kernels see them
    std::vector<Box> regions;          // by rank: what that rank stores
    std::vector<Chunks> chunks;        // by rank: its region, cut
    std::deque<SumInstance> sums;
    std::deque<StoreInstance> stores;
    std::deque<StoreInstance> peer_stores;  // of a kernel that stores to peers itself
    KernelCall main;
    std::vector<Transfer> transfers;      // on messages
    std::vector<StageInstance *> riders;  // block sums that follow it chunk by chunk
    int32_t first = 0;                    // of one that rides: is it the block's first chunk?
    bool sends_results = false;           // some store goes to other ranks, and there are any
    bool streamed = false;
    uint64_t bytes_loaded = 0, bytes_stored = 0;  // from and to peers' memory

    // Pieces of its region that a rank computes one after the other.
    int64_t count(int rank) const { return chunks[size_t(rank)].count(); }
    Box piece(int rank, int64_t i) const { return chunks[size_t(rank)].at(i); }
};

// On messages: what the first stage sends first goes with the enter, where that is little.
struct CarriedMessages {
    struct Operand {
        int peer = 0;
        size_t transfer = 0;
        Box region;
        Geometry packed;
        uint64_t at = 0;
    };
    std::vector<Operand> out, in;
    std::vector<uint64_t> out_bytes, in_bytes;  // by peer; 0: nothing goes with it
};

struct Instance {
    Shape shape;
    int rank = 0, ranks = 1;
    std::vector<bool> near;                  // by rank: reached by address, as this rank itself is; the others by message
    bool windows = false, messages = false;  // some ranks reach others so, or so: the same on all ranks
    std::vector<int64_t> sizes;
    std::vector<Geometry> arguments;  // by argument
    std::vector<BufferInstance> buffers;
    std::vector<int> published;  // buffers, by place
    std::vector<int> chosen;     // the plan's stages that a call executes, in order
    std::vector<bool> waits;     // before each of them, and at the end
    std::deque<StageInstance> stages;
    bool leave = false;          // a barrier at the end
    uint64_t carried_bytes = 0;  // if not 0, operands go with the enter and no buffer is published
    CarriedMessages carried_messages;
    uint64_t arena_bytes = 0, published_bytes = 0;

    // Scalars: values, 0-d views on them, and the scalar kernel's arguments after those of the caller.
    std::vector<uint64_t> scalars;
    std::deque<View> views;
    std::vector<void *> scalar_argv;
    int first = 0, first_of_others = 0;  // the `first` argument of peer sums: 1 for rank 0, and 0
    Descriptor descriptor;
    CallNames names;               // of the descriptor
    std::vector<uint64_t> hashed;  // what the descriptor's hash is of: plan, mode, sizes, then scalars

    // Loads of which only the address changes from call to call.
    struct Slot {
        View *view;
        int rank, buffer;
    };
    std::vector<Slot> slots;
    std::vector<uint8_t *> bases;        // [rank * buffers + buffer]: first element, this call
    std::vector<const uint8_t *> hosts;  // by argument: the last call's addresses, which passed check_memory
    std::vector<Place> places;

    uint8_t *&base(int rank_, int buffer) { return bases[size_t(rank_) * buffers.size() + size_t(buffer)]; }
};

// Throws Refusal when the arguments do not fit the plan, or the plan not the number of ranks. hosts: by rank; those of one
// host reach each other by address, others by message.
std::unique_ptr<Instance> prepare(const Program &program, const Shape &shape, void **argv, int rank,
                                  const std::vector<int> &hosts);

// The rank whose memory an access reads on rank `reader`; -1: every rank's.
int source_of(const plan::StageAccessT &access, int reader, int ranks);
// A rank's part of a buffer: stored densely, as peers see it; or, for this rank, as it is.
Geometry dense_geometry(const plan::PlanT &plan, const Instance &instance, int buffer, int rank);
Geometry geometry_of(const plan::PlanT &plan, const Instance &instance, int buffer, int rank);

// Parts of prepare() (order.cpp). Sets `chosen`: on messages every all-reduce is in two phases.
void choose_stages(const plan::PlanT &plan, Instance &instance);
// Sets `waits`: of the plan's syncs those that are needed with these stages. Throws Refusal if one is missing.
void find_waits(const plan::PlanT &plan, Instance &instance);
// Finds places for scratch, once the stages are prepared. It is needed from the first stage that stores it to the last that
// loads it; where peers reach it, until the next wait after that.
void place_scratch(const plan::PlanT &plan, Instance &instance);
// Which operands go with the enter, on shared memory (carry.cpp) and in its messages; then nobody reads
// this rank's memory, and nobody waits at the end.
void carry_operands(const plan::PlanT &plan, Instance &instance);
void carry_messages(const plan::PlanT &plan, Instance &instance);
// What ranks compare as they enter (description.cpp).
void describe(const plan::PlanT &plan, Instance &instance);

// "gsum, avg, p1": a stage in messages.
std::string stage_name(const plan::StageT &stage);

}  // namespace stretto::runtime
