#include "tests/worlds/loopback.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <numeric>
#include <vector>

#include "collectives/base/error.h"

namespace stretto::test {
using namespace runtime;
namespace {

class LoopbackOperation;

// Sends and receives that have found no partner yet, by the rank that receives, in the order they were started.
struct Mailbox {
    std::mutex mutex;
    std::list<LoopbackOperation *> sends, receives;
};

class LoopbackOperation final : public Operation {
public:
    LoopbackOperation(Mailbox &box, int peer, bool sends, uint64_t context, int from, int tag, void *data,
                      uint64_t bytes, uint64_t *length, bool endless)
        : Operation(peer, sends, data, bytes),
          context_(context),
          from_(from),
          tag_(tag),
          box_(box),
          data_(data),
          length_(length),
          endless_(endless && !sends && peer != any_peer) {
        std::lock_guard<std::mutex> lock(box_.mutex);
        auto &partners = sends ? box_.receives : box_.sends;
        auto partner =
            std::find_if(partners.begin(), partners.end(), [&](LoopbackOperation *p) { return matches(*p); });
        if (partner == partners.end()) {
            (sends ? box_.sends : box_.receives).push_back(this);
            return;
        }
        LoopbackOperation &send = sends ? *this : **partner, &receive = sends ? **partner : *this;
        bool fits = receive.length_ ? send.bytes <= receive.bytes : send.bytes == receive.bytes;
        State state = fits ? Done : Failed;
        if (fits && send.bytes) memcpy(receive.data_, send.data_, send.bytes);
        if (fits && receive.length_) *receive.length_ = send.bytes;
        send.others_ = receive.bytes;
        receive.others_ = send.bytes;
        (*partner)->state_.store(state, std::memory_order_release);
        state_.store(state, std::memory_order_release);
        partners.erase(partner);
    }

    bool end() override {
        std::lock_guard<std::mutex> lock(box_.mutex);
        if (endless_ && state_.load(std::memory_order_acquire) == Pending) return false;
        (sends ? box_.sends : box_.receives).remove(this);
        return true;
    }

    State test() override {
        State state = state_.load(std::memory_order_acquire);
        if (state == Failed) {
            unsigned long long sent = sends ? bytes : others_, expected = sends ? others_ : bytes;
            set_error(STRETTO_SYSTEM, "%llu bytes were sent where %llu are expected", sent, expected);
        }
        return state;
    }

private:
    bool matches(const LoopbackOperation &other) const {
        return context_ == other.context_ && tag_ == other.tag_ &&
               (from_ == other.from_ || from_ == any_peer || other.from_ == any_peer);
    }

    const uint64_t context_;
    const int from_, tag_;
    Mailbox &box_;
    void *const data_;
    uint64_t *const length_;
    const bool endless_;
    uint64_t others_ = 0;  // bytes of the partner
    std::atomic<State> state_{Pending};
};

using Mailboxes = std::shared_ptr<std::vector<Mailbox>>;

class LoopbackNetwork final : public Network {
public:
    // members: whose mailbox is whose.
    LoopbackNetwork(Mailboxes boxes, std::vector<int> members, int rank, uint64_t context, bool endless)
        : boxes_(std::move(boxes)), members_(std::move(members)), rank_(rank), context_(context), endless_(endless) {}

    int rank() const override { return rank_; }
    int ranks() const override { return int(members_.size()); }
    Operation *start_send(int peer, int tag, const void *data, uint64_t bytes) override {
        return new LoopbackOperation(box(peer), peer, true, context_, rank_, tag, const_cast<void *>(data), bytes,
                                     nullptr, endless_);
    }
    Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) override {
        return new LoopbackOperation(box(rank_), peer, false, context_, peer, tag, data, bytes, length, endless_);
    }
    std::shared_ptr<Network> sub(const std::vector<int> &ranks, uint64_t context) override {
        std::vector<int> members;
        for (int r : ranks) members.push_back(members_[size_t(r)]);
        int rank = int(std::find(ranks.begin(), ranks.end(), rank_) - ranks.begin());
        return std::make_shared<LoopbackNetwork>(boxes_, std::move(members), rank, context, endless_);
    }

private:
    Mailbox &box(int rank) const { return (*boxes_)[size_t(members_[size_t(rank)])]; }

    const Mailboxes boxes_;
    const std::vector<int> members_;
    const int rank_;
    const uint64_t context_;
    const bool endless_;
};

}  // namespace

std::vector<std::shared_ptr<Network>> make_loopback(int ranks, bool endless) {
    auto boxes = std::make_shared<std::vector<Mailbox>>(size_t(ranks));
    std::vector<int> members(static_cast<size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    std::vector<std::shared_ptr<Network>> networks;
    for (int r = 0; r < ranks; r++) networks.push_back(std::make_shared<LoopbackNetwork>(boxes, members, r, 0, endless));
    return networks;
}

}  // namespace stretto::test
