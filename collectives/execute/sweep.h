// Running a stage, chunk by chunk. One sweep, two ways to carry its loads from and stores to peers.
#pragma once
#include <vector>

#include "collectives/comm/comm.h"
#include "collectives/execute/instance.h"

namespace stretto::runtime {

struct Flights;

// One call of a program on this rank.
struct Execution {
    stretto_comm_t &comm;
    const Program &program;
    Instance &instance;
    Dispatch dispatch;
    uint8_t *arena;  // of this rank: scratch buffers, sums, operands that were received whole
    Flights &flights;

    Transport &transport() const { return *comm.transport; }
    bool alone() const { return instance.ranks == 1; }
};

// Where all peers' memory is reached by address, and for one rank alone.
int run_on_windows(Execution &x, StageInstance &stage);

// Where some peers are reached by messages: every addend goes to the rank that computes its region, which sums in rank order;
// what is stored to other ranks goes out again, chunk by chunk. Bytes are counted in stats.bytes_sent.
int run_on_messages(Execution &x, StageInstance &stage);

// What is stored to other ranks goes from where the kernel left it to those that are reached by address, unless the kernel does
// that.
void copy_to_near(Execution &x, StageInstance &stage, const Box &region);

// What the first stage sends goes with the enter, where that is little and ranks exchange messages. To be called before it.
void carry_on_messages(Execution &x);

// Where the kernel stores it: this rank's buffer, that of a peer, or scratch.
inline uint8_t *stored_at(Execution &x, const StoreInstance &store) {
    return store.rank < 0 ? x.arena + store.offset : x.instance.base(store.rank, store.buffer);
}

// The kernels of one chunk: peer sums rank by rank where there are any, the stage's own, then those that ride in it.
int compute(Execution &x, StageInstance &stage, const Box &region);

// Block sums that ride in the stage begin: those without elements are stored.
int begin_riders(Execution &x, StageInstance &stage);

// An error of this rank that the others must learn of. Returns the status.
int fail(Execution &x, int status, const std::string &text);

}  // namespace stretto::runtime
