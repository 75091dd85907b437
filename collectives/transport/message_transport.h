// The transport of ranks that exchange messages: agreement, deadlines and failure over any network
// that can send and receive. MPI is one (stretto_mpi), threads that copy another (loopback.h).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/settings.h"
#include "collectives/base/tuning.h"
#include "collectives/memory/memory.h"
#include "collectives/transport/transport.h"

namespace stretto::runtime {

constexpr int any_peer = -1;
constexpr int most_user_tags = 16384;  // algorithms use tags below; MPI promises at least 32767

// A send or receive under way.
class Operation {
public:
    explicit Operation(int peer, bool sends) : peer(peer), sends(sends) {}
    // Ends it, done or not: afterwards nobody writes into a receive's buffer.
    virtual ~Operation() = default;
    enum State { Pending,
                 Done,
                 Failed };
    virtual State test() = 0;

    const int peer;
    const bool sends;
    Operation *next = nullptr, **link = nullptr;  // of all of a transport that are under way
};

class MessageTransport : public Transport {
public:
    int rank() const final { return rank_; }
    int ranks() const final { return ranks_; }
    bool shared() const final { return false; }
    bool reachable(const void *, uint64_t bytes) const final { return bytes == 0; }
    int enter(const Descriptor &, const Place *, int count) final;
    void *at(int, int) const final { return nullptr; }
    void *carry(int peer, uint64_t bytes) final;
    const void *carried(int peer, uint64_t bytes) const final;
    int agree() final;
    int barrier() final;
    int leave(bool wait) final;
    void *allocate(uint64_t bytes, uint64_t align) final { return memory_.allocate(bytes, align); }
    void release(void *data) final { memory_.release(data); }
    bool owns(const void *data) const final { return memory_.owns(data); }
    Request send(int peer, int tag, const void *data, uint64_t bytes) final;
    Request receive(int peer, int tag, void *data, uint64_t bytes) final;
    int progress(Request *requests, int count, bool wait) final;
    int fail(int status, const char *text) final;
    int poll() final;

protected:
    // spin: every rank of this host has a core of its own, so waiting need not give it away.
    MessageTransport(int rank, int ranks, const Settings &settings, bool spin);

    // What a network provides. Null: it failed, with the text set. peer may be any_peer in start_receive. What comes has to be
    // of that length; with `length` it may be shorter, at most short_bytes, and *length says how long it is.
    static constexpr uint64_t short_bytes = carried_message_bytes + sizeof(uint64_t);
    virtual Operation *start_send(int peer, int tag, const void *data, uint64_t bytes) = 0;
    virtual Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) = 0;

    // To be called first in a destructor, while the network is there.
    void close();
    bool is_broken() const { return status_ != 0; }

private:
    // The first failure as the other ranks learn of it.
    struct Note {
        int32_t status;
        char text[1020];
    };

    // What ranks tell each other as they enter, and what goes with it.
    struct alignas(64) Enter {
        uint64_t unused[7], hash;  // so that what follows is aligned
        uint8_t carried[carried_message_bytes];
    };
    struct Peer {
        Enter told, heard;
        uint64_t carry_bytes = 0, heard_bytes = 0;  // heard_bytes with the hash
    };

    Operation *track(Operation *);
    Request receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length);
    void drop(Operation *);
    void drop_all();
    bool test_all(Request *requests, int count, bool *done);
    int exchange(int to, int from, int tag, const void *out, void *in, uint64_t bytes);
    int mismatch();
    int report(int status, const std::string &text);
    int look_if_late();
    int look_for_notes(int times);
    int break_with(int status, const std::string &text);
    int broken();
    std::string place_in_call() const;
    std::vector<int> late_peers(const Request *requests, int count) const;
    std::string late_text(const std::vector<int> &late) const;

    const int rank_, ranks_;
    const Settings settings_;
    const int spins_;
    ThreadMemory memory_;
    Operation *under_way_ = nullptr;
    Operation *notice_ = nullptr;  // the receive of a peer's note
    std::unique_ptr<Note> incoming_ = std::make_unique<Note>(),
                          outgoing_ = std::make_unique<Note>();
    std::vector<std::unique_ptr<Operation>> notes_;  // this rank's, not yet taken
    int status_ = 0;                                 // of the first failure
    std::string text_;
    bool inside_ = false;    // between enter and leave
    Descriptor descriptor_;  // of the call under way
    std::vector<Peer> peers_;
    std::vector<Request> telling_;  // until all agree
    bool agreed_ = true;
    bool received_much_ = false;           // in the call under way
    double looked_ = rough_seconds_now();  // when this rank last cared whether the others still wait
    int barriers_ = 0;
};

}  // namespace stretto::runtime
