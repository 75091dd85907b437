// Ranks that reach each other's memory: where it is, who lives, and the one word by which all hear of a failure. Whatever
// communicators are made of a world's ranks share its memory, and what breaks one of them breaks the world.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collectives/base/settings.h"
#include "collectives/memory/memory.h"
#include "collectives/world/process.h"

namespace stretto::runtime {

constexpr int most_ranks = 1024;

// What all ranks see: plain memory for threads, a memfd for processes; all-zero bytes are a valid beginning.
struct alignas(128) WorldState {
    // The first failure: code (16 bits, negated status), rank (16), sequence of the call (32); 0: none. Never cleared.
    std::atomic<uint64_t> abort;
    std::atomic<uint64_t> taking;  // bytes of memory that ranks are about to take
    int32_t usable_cores;          // by all ranks together

    // Of the failure that a rank reported.
    struct Text {
        char text[1024];
    };
    Text &text(int rank) { return reinterpret_cast<Text *>(this + 1)[rank]; }
    static uint64_t bytes(int ranks) { return sizeof(WorldState) + uint64_t(ranks) * sizeof(Text); }
};

// What a rank knows of the world, and what it was made from.
struct WorldParts {
    int rank = 0, ranks = 1;
    std::shared_ptr<WorldState> state;
    std::shared_ptr<Memory> memory;
    std::vector<std::unique_ptr<Process>> processes;  // of each rank; empty for threads
    Settings settings;
};

// One rank's part in a world. Its communicators share it, so functions may be called by several threads at once.
class World {
public:
    explicit World(WorldParts parts) : parts_(std::move(parts)), state_(*parts_.state) {}

    int rank() const { return parts_.rank; }
    int ranks() const { return parts_.ranks; }
    const Settings &settings() const { return parts_.settings; }
    const Memory &memory() const { return *parts_.memory; }
    bool cores_for_all() const { return parts_.ranks <= state_.usable_cores; }

    bool aborted() const { return state_.abort.load(std::memory_order_seq_cst) != 0; }
    // The first report of all ranks stands: true if this one is it. Its text is complete before the word says so.
    bool report(int status, uint32_t sequence, const std::string &text);
    int status() const;
    std::string text() const;

    // "its process 17 has ended"; empty while it runs. Threads are never seen to end.
    std::string fate(int rank) const;
    bool ended(int rank) const { return !parts_.processes.empty() && parts_.processes[size_t(rank)]->fate(); }

    void *allocate(uint64_t bytes, uint64_t align);
    // Later, if it overlaps memory that is held.
    void release(void *data);
    // As soon as nobody uses it; that is looked at now and then.
    void release_when_unused(void *data, std::function<bool()> in_use);
    // Memory [begin, end) that a stopped peer may still write to is not given out again as long as it is in use.
    void hold(std::vector<std::pair<uintptr_t, uintptr_t>> ranges, std::function<bool()> in_use);

private:
    struct Held {
        std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
        std::vector<void *> released;  // by the caller, meanwhile
        std::function<bool()> in_use;
    };
    void look_at_held();

    WorldParts parts_;
    WorldState &state_;
    std::mutex mutex_;
    std::vector<Held> held_;
};

}  // namespace stretto::runtime
