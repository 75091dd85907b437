// What the communicators of one rank that exchanges messages have in common: the network of all ranks, by which they tell each
// other of the first failure, and memory. Functions may be called by several threads at once, if the network's may.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "collectives/base/settings.h"
#include "collectives/memory/memory.h"
#include "collectives/transport/network.h"

namespace stretto::runtime {

// Objects that messages come to or go from, in memory that is kept while an operation cannot be ended. T: plain data, zeroed.
template <class T>
class OwnMemory {
public:
    explicit OwnMemory(ThreadMemory &memory, size_t count = 1)
        : memory_(memory), data_(static_cast<T *>(memory.allocate(count * sizeof(T), alignof(T)))) {
        if (!data_) throw std::bad_alloc();
        std::uninitialized_value_construct_n(data_, count);
    }
    ~OwnMemory() { memory_.release(data_); }
    OwnMemory(const OwnMemory &) = delete;
    OwnMemory &operator=(const OwnMemory &) = delete;
    T *get() const { return data_; }
    T *operator->() const { return data_; }
    T &operator[](size_t i) const { return data_[i]; }

private:
    static_assert(std::is_trivially_destructible_v<T>);
    ThreadMemory &memory_;
    T *const data_;
};

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
    // Deletes it when it has been ended; else it and its buffer, if that is of `memory`, are kept for ever, and it is false.
    bool end(Operation *);

private:
    // The first failure as the other ranks learn of it.
    struct Note {
        int32_t status;
        char text[1020];
    };

    int break_locked(int status, const std::string &text);
    struct End {
        MessageWorld *world;
        void operator()(Operation *op) const { world->end(op); }
    };
    using Ended = std::unique_ptr<Operation, End>;
    Ended receive_note();

    std::mutex mutex_;
    std::atomic<int> status_{0};
    std::string text_;
    OwnMemory<Note> incoming_{memory}, outgoing_{memory};
    Ended notice_{nullptr, {this}};  // the receive of a peer's note
    std::vector<Ended> notes_;       // this rank's, not yet taken
};

// A network makes progress only while it is asked, and a rank that gives way all the time gets little of a busy machine: so
// the sleeps are an eighth of the time waited, within limits.
void sleep_in_proportion(double waited);

}  // namespace stretto::runtime
