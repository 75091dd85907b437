// The transport of ranks that share memory, threads and processes alike: signal lines, waiting, failure. Its ranks are some
// of a world's, or all, in any order.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/base/clock.h"
#include "collectives/transport/lines.h"
#include "collectives/transport/transport.h"
#include "collectives/world/world.h"

namespace stretto::runtime {

class SharedTransport final : public Transport {
public:
    // Of all ranks of a world; their lines live as long as the world.
    SharedTransport(std::shared_ptr<World> world, Lines *lines);
    ~SharedTransport() override;

    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    int host(int) const override { return 0; }
    bool reachable(const void *data, uint64_t bytes) const override {
        return bytes == 0 || world_->memory().reachable(data, bytes);
    }
    int enter(const Descriptor &, const Place *, int count) override;
    void *at(int peer, int place) const override;
    int agree() override { return 0; }
    void *carry(int, uint64_t bytes) override { return operands(rank(), int(enters_ & 1), bytes); }
    const void *carried(int peer, uint64_t bytes) const override { return operands(peer, parity_, bytes); }
    int barrier() override;
    int leave(bool wait) override;
    int sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) override;
    void *allocate(uint64_t bytes, uint64_t align) override { return world_->allocate(bytes, align); }
    void release(void *data) override { world_->release(data); }
    bool owns(const void *data) const override { return world_->memory().owns(data); }

    // Ranks that share memory exchange none: progress() refuses such a request.
    Request send(int peer, int tag, const void *data, uint64_t bytes) override;
    Request receive(int peer, int tag, void *data, uint64_t bytes) override;
    int progress(Request *requests, int count, bool wait) override;

    int fail(int status, const char *text) override;
    int poll() override { return world_->aborted() ? broken() : STRETTO_OK; }

private:
    // Who still reads the lines: they are given back when nobody does.
    struct Use {
        explicit Use(Page &page) : page(page) {}
        ~Use() { page.done.store(1, std::memory_order_release); }
        Page &page;
    };

    // members: ranks of the world, in order.
    SharedTransport(std::shared_ptr<World> world, Lines *lines, std::vector<int> members, bool lines_on_heap);

    Line &line(int rank) const { return line_[rank]; }
    Page &page(int rank) const { return page_[rank]; }
    // The places of a line are free when no buffer is published.
    void *operands(int peer, int parity, uint64_t bytes) const {
        Line &l = line(peer);
        return bytes <= sizeof l.place[0] ? static_cast<void *>(l.place[parity]) : lines_.operands(peer).bytes[parity];
    }
    bool here(int peer) const { return reached(line(peer).epoch.load(std::memory_order_acquire), epoch_); }
    uint64_t value_of(const void *data) const { return uint64_t(data) - uint64_t(windows_[size_t(rank_)]); }
    char *address(int peer, uint64_t value) const { return windows_[size_t(peer)] + value; }

    int publish(const Place *places, int count);
    void signal();
    int wait(int peer, std::optional<Deadline> &deadline);
    template <class Arrived>
    int wait_for_all(Arrived arrived);
    int check_refusals();
    int check_peers(Deadline &);
    bool is_lost(int peer) const;
    int report_lost(int peer, const std::string &waiting);
    std::string late_text(const std::vector<int> &late, const std::string &waiting) const;
    void propose(const std::vector<int> &ranks, uint64_t hash, uint64_t lines);
    int wait_for_proposals(const std::vector<int> &ranks, uint64_t hash);
    int compare_proposal(int peer, uint64_t hash, bool *same);
    std::string place_in_call() const;
    int mismatch();
    int show_programs(const std::string &mine, std::vector<std::string> *all);
    int report_refusal(int rank);
    int report(int status, const std::string &text);
    int broken();
    std::vector<int> settle();
    void hold_places(const std::vector<int> &stuck);

    std::shared_ptr<World> world_;
    const std::vector<int> members_;
    const int rank_, ranks_;
    Lines &lines_;
    const bool lines_on_heap_;
    Line *const line_;
    Page *const page_;
    std::shared_ptr<Use> use_;
    uint32_t epoch_, enters_;
    int parity_ = 0, count_ = 0, barriers_ = 0;
    std::vector<char *> windows_;

    // What this rank published, by parity: peers may still read what the last enter did, but nothing older.
    std::vector<Place> published_[2];
    struct Table {
        uint64_t *values = nullptr;
        int room = 0;
    } tables_[2];
};

}  // namespace stretto::runtime
