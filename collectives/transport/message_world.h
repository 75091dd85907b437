// What the communicators of one rank that exchanges messages have in common: the network of all ranks, by which they tell each
// other of the first failure, and memory. Functions may be called by several threads at once, if the network's may.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/base/settings.h"
#include "collectives/memory/memory.h"
#include "collectives/transport/network.h"

namespace stretto::runtime {

class MessageWorld {
public:
    // spin: every rank of this host has a core of its own, so waiting need not give it away.
    MessageWorld(std::shared_ptr<Network> network, const Settings &settings, bool spin)
        : network(std::move(network)), settings(settings), spin(spin) {}
    ~MessageWorld();

    const std::shared_ptr<Network> network;  // of all ranks
    const Settings settings;
    const bool spin;
    ThreadMemory memory;
    std::atomic<uint64_t> made{0};  // communicators, by this rank

    // Of the first failure that this rank knows of; 0: none.
    int status() const { return status_.load(std::memory_order_acquire); }
    // Remembers it, if it is the first, and returns the first one's status, with the text set.
    int break_with(int status, const std::string &text);
    // And tells the others.
    int report(int status, const std::string &text);
    // Has one of the others told of a failure?
    int poll();
    int broken() { return break_with(0, ""); }

private:
    // The first failure as the other ranks learn of it.
    struct Note {
        int32_t status;
        char text[1020];
    };

    int break_locked(int status, const std::string &text);
    std::unique_ptr<Operation> receive_note();

    std::mutex mutex_;
    std::atomic<int> status_{0};
    std::string text_;
    std::unique_ptr<Note> incoming_ = std::make_unique<Note>(), outgoing_ = std::make_unique<Note>();
    std::unique_ptr<Operation> notice_;              // the receive of a peer's note
    std::vector<std::unique_ptr<Operation>> notes_;  // this rank's, not yet taken
};

// A network makes progress only while it is asked, and a rank that gives way all the time gets little of a busy machine: so
// the sleeps are an eighth of the time waited, within limits.
void sleep_in_proportion(double waited);

}  // namespace stretto::runtime
