// What a communicator handle is: one rank's transport, counters, and the guard that lets one thread use it at a time.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include <stretto/runtime.h>
#include "collectives/base/hash.h"
#include "collectives/transport/transport.h"

struct stretto_comm_t {
    explicit stretto_comm_t(std::unique_ptr<stretto::runtime::Transport> t);

    std::unique_ptr<stretto::runtime::Transport> transport;
    stretto_stats stats{};
    uint32_t sequence = 0;                 // calls begun on this handle, failed ones included: Descriptor::sequence
    std::shared_ptr<void> executor_state;  // the executor's plan cache and scratch; dies before the transport
    enum Use { Inside = 1,
               Freed = 2 };  // while inside: deleted when that call ends
    std::atomic<int> use{0};
    uint32_t fork_generation;  // of the process that made this handle
};

namespace stretto::runtime {

// Goes up by one in a forked child, which must not touch its parent's communicators.
uint32_t fork_generation();

// Exclusive use of a handle for one call. status() is 0, or STRETTO_INVALID (null handle),
// STRETTO_BUSY, STRETTO_FORKED with the text set; then the caller returns it and touches nothing.
//     CommUse use(comm, "adam");
//     if (use.status()) return use.status();
class CommUse {
public:
    CommUse(stretto_comm_t *comm, const char *operation);
    ~CommUse();
    CommUse(const CommUse &) = delete;
    CommUse &operator=(const CommUse &) = delete;
    int status() const { return status_; }

private:
    stretto_comm_t *comm_ = nullptr;
    int status_;
};

// What the control word of the SSE unit says of results (flush-to-zero, rounding), 0 on other processors: Descriptor::mxcsr.
uint32_t floating_point_mode();

}  // namespace stretto::runtime
