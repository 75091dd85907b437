// The memory that the ranks of a communicator share to agree: signal lines, descriptors, places. It lies behind the world's
// state for the communicator of all ranks, else in the heap of a communicator's first rank.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collectives/base/tuning.h"
#include "collectives/transport/transport.h"
#include "collectives/world/world.h"

namespace stretto::runtime {

constexpr int near_places = 6;  // that many fit in a signal line beside the epoch, and arrive with it

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

// The communicator that a rank is making of ranks of this one. Peers read it while it may change: it is whole where the
// version is even and was the same before.
struct Proposal {
    std::atomic<uint32_t> version;
    std::atomic<uint64_t> hash;  // of the ordered list of its ranks; 0: this rank makes none
    std::atomic<uint64_t> members[most_ranks / 64];
    std::atomic<uint64_t> lines;  // where they are in the window of its first rank, who says so
};

// What peers rarely read.
struct alignas(128) Page {
    std::atomic<uint32_t> inside;  // between enter and leave: this rank may touch peers' memory
    std::atomic<uint32_t> gone;    // it has freed its handle
    std::atomic<uint32_t> done;    // and reads the lines no more
    Descriptor descriptor[2];
    uint64_t table[2];   // where the places are that the line has no room for, by parity
    uint64_t program;    // where the text of its program is, where programs differ
    char refusal[1024];  // what is wrong with this rank's arguments
    Proposal proposal;
};

// Operands that come with an enter and are too many for the places of a line, by parity.
struct alignas(128) Operands {
    uint8_t bytes[2][carried_bytes];
};

struct alignas(128) Lines {
    int32_t ranks;

    static uint64_t bytes(int ranks) {
        return sizeof(Lines) + uint64_t(ranks) * (sizeof(Line) + sizeof(Page) + sizeof(Operands));
    }
    // In memory of zeros.
    static Lines *make(void *memory, int ranks, uint32_t first_epoch) {
        auto *lines = static_cast<Lines *>(memory);
        lines->ranks = ranks;
        for (int q = 0; q < ranks; q++) lines->line(q).epoch.store(first_epoch, std::memory_order_relaxed);
        return lines;
    }
    Line &line(int rank) { return reinterpret_cast<Line *>(this + 1)[rank]; }
    Page &page(int rank) { return reinterpret_cast<Page *>(&line(ranks))[rank]; }
    Operands &operands(int rank) { return reinterpret_cast<Operands *>(&page(ranks))[rank]; }
};

// They lie behind the state of their world.
inline Lines *lines_of_all(WorldState &state, int ranks) {
    return reinterpret_cast<Lines *>(reinterpret_cast<char *>(&state) + WorldState::bytes(ranks));
}

// Epochs pass 2^32 in a long run: only their difference counts.
inline bool reached(uint32_t epoch, uint32_t target) { return int32_t(epoch - target) >= 0; }

}  // namespace stretto::runtime
