// What an algorithm needs of a communicator. Ranks of one host have a window on each other's buffers; ranks of two exchange
// messages. Virtual calls are made once a chunk, never once an element.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stretto::runtime {

// What a program calls its sizes and scalar arguments: for texts.
struct CallNames {
    std::vector<std::string> sizes, scalars;
    std::function<std::string(int i, uint64_t bits)> value;    // of scalar i, which has this bit pattern
    std::function<std::string()> program = [] { return ""; };  // a line for each thing that programs can differ in
};

// What this rank is about to do. Ranks compare `hash` (of everything below and the program's sizes and scalars); only on a
// difference are the other fields read, to say who differs in what.
struct Descriptor {
    uint64_t hash = 0;
    uint64_t program = 0;       // hash of the plan's bytes
    uint64_t sizes[8] = {};     // the first eight sizes
    uint64_t scalars[16] = {};  // the first sixteen scalar arguments, bit patterns
    int32_t size_count = 0, scalar_count = 0;
    uint32_t sequence = 0;             // calls made on this communicator before this one
    uint32_t mxcsr = 0;                // flush-to-zero and rounding bits
    char name[64] = {};                // of the program
    const CallNames *names = nullptr;  // of use to its own rank only; not compared; null: no sizes or scalars
    int32_t refused = 0;               // a status: this rank refuses the call, and says why
    const char *refusal = nullptr;     // the text; its own rank's pointer
};

// A place that peers may load from or store to between enter and the last barrier of a call.
struct Place {
    void *data;
    uint64_t bytes;
};

struct Request {
    void *impl = nullptr;
};  // null: done

// One a communicator and rank. Every function that waits returns 0 or a stretto_status (the text is in last_error()), and
// returns with an error when a peer is lost, the deadline passes or another rank failed.
class Transport {
public:
    virtual ~Transport() = default;
    virtual int rank() const = 0;
    virtual int ranks() const = 0;

    // Ranks with one number here reach each other's memory by address, at(); others by message.
    virtual int host(int rank) const = 0;
    bool direct(int peer) const { return host(peer) == host(rank()); }

    // ---- shared memory.
    // May peers reach this memory as it is? Threads: any pointer. Processes: the heap of stretto_malloc.
    virtual bool reachable(const void *data, uint64_t bytes) const = 0;
    // Publishes descriptor and places (the same number on all ranks), waits for all ranks, compares the hashes. On messages it
    // does not wait: what this rank sends may overtake the others' answers. If some ranks refuse the call, and not all, it is
    // the first one's failure.
    virtual int enter(const Descriptor &, const Place *, int count) = 0;
    // Waits for them, if enter() has not: before it nothing is to be received or stored, since ranks that differ may send more
    // than there is room for, and their arguments are to stay as they are.
    virtual int agree() = 0;
    // The address of a peer's place in this address space; valid between enter and leave.
    virtual void *at(int peer, int place) const = 0;
    // Small operands go with the enter: what this rank has put into carry(q) before it, rank q finds in carried(this rank) once
    // they agree, for as long as it is in that call: nobody has to wait before this rank goes on. On shared memory all peers
    // find the same, whichever is named: as many bytes on all ranks, at most carried_bytes; 8-byte aligned. On messages each
    // finds its own, at most carried_message_bytes; aligned to cache lines; carry() is null after a failure, carried() when
    // not so many have come.
    virtual void *carry(int peer, uint64_t bytes) = 0;
    virtual const void *carried(int peer, uint64_t bytes) const = 0;
    // All ranks' earlier loads and stores are done before anybody's later ones.
    virtual int barrier() = 0;
    // Ends the call. With wait: a barrier first.
    virtual int leave(bool wait) = 0;
    // The transport of some of its ranks, this one among them, in that order: called by all of those and by no other rank.
    virtual int sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) = 0;
    // Memory for `bytes` that peers can reach, or null (with the text set). align: a power of two. Any thread may call these.
    virtual void *allocate(uint64_t bytes, uint64_t align = 64) = 0;
    virtual void release(void *) = 0;
    // Is it inside memory that allocate() gave and release() has not taken back?
    virtual bool owns(const void *data) const = 0;

    // ---- messages. Matched by (peer, tag) in order. Buffers must live until the request is done.
    virtual Request send(int peer, int tag, const void *data, uint64_t bytes) = 0;
    virtual Request receive(int peer, int tag, void *data, uint64_t bytes) = 0;
    // Tests, or waits for, all of them.
    virtual int progress(Request *requests, int count, bool wait) = 0;

    // First failure of a world wins; wakes everybody; the world's communicators are broken from then on. Returns the status.
    virtual int fail(int status, const char *text) = 0;
    // Has somebody failed? To be asked once a chunk.
    virtual int poll() = 0;
};

}  // namespace stretto::runtime
