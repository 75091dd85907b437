// The memory that the ranks of a communicator share to agree: signal lines, descriptors, places,
// the abort word. It is the same for threads (plain memory) and for processes (a memfd); all-zero
// bytes are a valid beginning.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collectives/base/tuning.h"
#include "collectives/transport/transport.h"

namespace stretto::runtime {

constexpr int near_places =
    6;  // that many fit in a signal line beside the epoch, and arrive with it

// Written by its owner, polled by the others. 128 bytes: processors fetch lines of 64 in pairs.
struct alignas(128) Line {
    std::atomic<uint32_t> epoch;     // signals given so far; compared by wrapping difference
    std::atomic<uint32_t> sleepers;  // waiters add themselves before they sleep on `epoch`
    std::atomic<uint32_t> core;      // 1 + the one that the owner signalled from, 0: not known
    uint32_t unused;
    uint64_t hash[2];  // of the descriptor, by parity of the enter
    uint64_t place[2][near_places];
};
static_assert(sizeof(Line) == 128);

// What peers rarely read.
struct alignas(128) Page {
    std::atomic<uint32_t> inside;  // between enter and leave: this rank may touch peers' memory
    std::atomic<uint32_t> gone;    // it has freed its handle
    Descriptor descriptor[2];
    int32_t count[2];
    uint64_t place[2][max_places];
    uint64_t bytes[2][max_places];  // of the places; read by their owner only
    char text[1024];                // of the failure that this rank reported
};

// Operands that come with an enter and are too many for the places of a line, by parity.
struct alignas(128) Operands {
    uint8_t bytes[2][carried_bytes];
};

struct alignas(128) Control {
    // The first failure: code (16 bits, negated status), rank (16), sequence (32); 0: none. Never
    // cleared.
    std::atomic<uint64_t> abort;
    int32_t ranks;
    int32_t usable_cores;  // by all ranks together

    static uint64_t bytes(int ranks) {
        return sizeof(Control) + uint64_t(ranks) * (sizeof(Line) + sizeof(Page) + sizeof(Operands));
    }
    Line &line(int rank) { return reinterpret_cast<Line *>(this + 1)[rank]; }
    Page &page(int rank) { return reinterpret_cast<Page *>(&line(ranks))[rank]; }
    Operands &operands(int rank) { return reinterpret_cast<Operands *>(&page(ranks))[rank]; }
};

// Epochs pass 2^32 in a long run: only their difference counts.
inline bool reached(uint32_t epoch, uint32_t target) { return int32_t(epoch - target) >= 0; }

}  // namespace stretto::runtime
