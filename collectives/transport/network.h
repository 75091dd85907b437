// What can send and receive: MPI (stretto_mpi), or threads that copy (tests/worlds/loopback.h). One object a rank.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace stretto::runtime {

constexpr int any_peer = -1;

// A send or receive under way.
class Operation {
public:
    Operation(int peer, bool sends, const void *data, uint64_t bytes) : peer(peer), sends(sends), data(data), bytes(bytes) {}
    virtual ~Operation() = default;
    // Ends it, done or not: to be called before it is deleted. False: that cannot be, as a peer that does not run is in the
    // middle of it. Then neither it nor its buffer may ever be given back.
    virtual bool end() = 0;
    enum State { Pending,
                 Done,
                 Failed };
    virtual State test() = 0;

    const int peer;
    const bool sends;
    const void *const data;
    const uint64_t bytes;
    Operation *next = nullptr, **link = nullptr;  // of all of a transport that are under way
};

class Network {
public:
    virtual ~Network() = default;
    virtual int rank() const = 0;
    virtual int ranks() const = 0;
    // Matched by (peer, tag) in order. Null: it failed, with the text set. What comes has to be of that length; with `length`
    // it may be shorter, at most short_bytes, and *length says how long it is. peer may be any_peer in start_receive.
    virtual Operation *start_send(int peer, int tag, const void *data, uint64_t bytes) = 0;
    virtual Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) = 0;
    // One whose messages meet none of this one's, of these of its ranks in that order. All of those call it, when each knows
    // that the others do, with a context that no other network has. Null: it failed, with the text set.
    virtual std::shared_ptr<Network> sub(const std::vector<int> &ranks, uint64_t context) = 0;
    // After a failure there may be nobody with whom to free it.
    virtual void abandon() {}
};

}  // namespace stretto::runtime
