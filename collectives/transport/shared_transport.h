// The transport of ranks that share memory, threads and processes alike: signal lines, waiting,
// failure.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "collectives/transport/lines.h"
#include "collectives/transport/transport.h"
#include "collectives/world/world.h"

namespace stretto::runtime {

class SharedTransport final : public Transport {
public:
    explicit SharedTransport(SharedWorld world);
    ~SharedTransport() override;

    int rank() const override { return world_.rank; }
    int ranks() const override { return world_.ranks; }
    bool shared() const override { return true; }
    bool reachable(const void *data, uint64_t bytes) const override;
    int enter(const Descriptor &, const Place *, int count) override;
    void *at(int peer, int place) const override;
    int agree() override { return 0; }
    void *carry(int, uint64_t bytes) override { return operands(rank(), int(enters_ & 1), bytes); }
    const void *carried(int peer, uint64_t bytes) const override { return operands(peer, parity_, bytes); }
    int barrier() override;
    int leave(bool wait) override;
    void *allocate(uint64_t bytes, uint64_t align) override;
    void release(void *) override;
    bool owns(const void *data) const override { return world_.memory->owns(data); }

    // Ranks that share memory exchange none: progress() refuses such a request.
    Request send(int peer, int tag, const void *data, uint64_t bytes) override;
    Request receive(int peer, int tag, void *data, uint64_t bytes) override;
    int progress(Request *requests, int count, bool wait) override;

    int fail(int status, const char *text) override;
    int poll() override;

private:
    Line &line(int rank) const { return lines_[rank]; }
    Page &page(int rank) const { return pages_[rank]; }
    // The places of a line are free when no buffer is published.
    void *operands(int peer, int parity, uint64_t bytes) const {
        Line &l = line(peer);
        return bytes <= sizeof l.place[0] ? static_cast<void *>(l.place[parity])
                                          : control_.operands(peer).bytes[parity];
    }
    bool aborted() const { return control_.abort.load(std::memory_order_seq_cst) != 0; }
    bool here(int peer) const {
        return reached(line(peer).epoch.load(std::memory_order_acquire), epoch_);
    }

    void signal();
    int wait(int peer);
    int check_peers(double since);
    bool ended(int peer) const;
    bool may_touch(int peer) const;
    std::string place_in_call() const;
    int mismatch();
    int report(int status, const std::string &text);
    int broken();
    std::vector<int> settle();
    void hold_places(const std::vector<int> &stuck);
    void drain_quarantine();

    SharedWorld world_;
    Control &control_;
    Line *const lines_;
    Page *const pages_;
    const bool own_core_;  // there are cores for all ranks
    uint32_t epoch_, enters_;
    int parity_ = 0, count_ = 0, barriers_ = 0;
    std::vector<char *> windows_;

    // Memory that a stopped peer may still write to: not to be given out again before it has
    // acknowledged.
    std::mutex quarantine_;
    std::vector<int> stuck_;
    std::vector<std::pair<uintptr_t, uintptr_t>> held_;  // begin, end of the failed call's places
    std::vector<void *> deferred_;                       // released by the caller meanwhile
};

}  // namespace stretto::runtime
