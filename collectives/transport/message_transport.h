// The transport of ranks that exchange messages over a network: agreement, deadlines and failure. Its ranks are some of a
// world's, or all, in any order.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/base/clock.h"
#include "collectives/base/tuning.h"
#include "collectives/transport/message_world.h"
#include "collectives/transport/network.h"
#include "collectives/transport/transport.h"

namespace stretto::runtime {

// Algorithms use tags below; MPI promises at least 32767.
constexpr int most_user_tags = 16384;
enum OwnTags {
    enter_tag = most_user_tags,
    barrier_tag,  // and one a round
    descriptor_tag = barrier_tag + 32,
    sub_tag,
    note_tag
};

// A message whose length its receiver does not know is no longer.
constexpr uint64_t short_bytes = carried_message_bytes + sizeof(uint64_t);

class MessageTransport final : public Transport {
public:
    // Of all ranks of the world.
    explicit MessageTransport(std::shared_ptr<MessageWorld> world);
    ~MessageTransport() override;

    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    int host(int rank) const override { return rank; }
    bool reachable(const void *, uint64_t bytes) const override { return bytes == 0; }
    int enter(const Descriptor &, const Place *, int count) override;
    void *at(int, int) const override { return nullptr; }
    void *carry(int peer, uint64_t bytes) override;
    const void *carried(int peer, uint64_t bytes) const override;
    int agree() override;
    int barrier() override;
    int leave(bool wait) override;
    int sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) override;
    void *allocate(uint64_t bytes, uint64_t align) override { return world_->memory.allocate(bytes, align); }
    void release(void *data) override { world_->memory.release(data); }
    bool owns(const void *data) const override { return world_->memory.owns(data); }
    Request send(int peer, int tag, const void *data, uint64_t bytes) override;
    Request receive(int peer, int tag, void *data, uint64_t bytes) override;
    int progress(Request *requests, int count, bool wait) override;
    int fail(int status, const char *text) override;
    int poll() override { return world_->poll() ? broken() : STRETTO_OK; }

private:
    // What ranks tell each other as they enter, and what goes with it.
    struct alignas(64) Enter {
        uint64_t unused[7], hash;  // so that what follows is aligned
        uint8_t carried[carried_message_bytes];
    };
    struct Peer {
        Enter told, heard;
        uint64_t carry_bytes = 0, heard_bytes = 0;  // heard_bytes with the hash
    };

    // members: ranks of the world, in order.
    MessageTransport(std::shared_ptr<MessageWorld> world, std::shared_ptr<Network> network, std::vector<int> members);

    Operation *track(Operation *);
    Request receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length);
    void drop(Operation *);
    void drop_all();
    bool test_all(Request *requests, int count, bool *done);
    // Everybody's, in rank order, among the ranks listed.
    template <typename T>
    int gather(const std::vector<int> &ranks, int tag, const T &mine, std::vector<T> *all);
    int look_for_others();
    int mismatch();
    int show_programs(const std::string &mine, std::vector<std::string> *all);
    int report(int status, const std::string &text);
    int look_if_late();
    int look_for_notes(int times);
    int with_stuck(int status);
    int broken();
    std::string place_in_call() const;
    std::vector<int> late_peers(const Request *requests, int count) const;
    std::string late_text(const std::vector<int> &late) const;

    const std::shared_ptr<MessageWorld> world_;
    const std::shared_ptr<Network> network_;
    const std::vector<int> members_;
    const int rank_, ranks_, spins_;
    Operation *under_way_ = nullptr;
    bool inside_ = false;    // between enter and leave
    Descriptor descriptor_;  // of the call under way
    OwnMemory<Peer> peers_;
    OwnMemory<char> barrier_bytes_;  // received and sent
    std::vector<int> stuck_;         // peers whose operations could not be ended
    std::vector<Request> telling_;   // until all agree
    bool agreed_ = true;
    bool received_much_ = false;           // in the call under way
    double looked_ = rough_seconds_now();  // when this rank last cared whether the others still wait
    int barriers_ = 0;
};

}  // namespace stretto::runtime
