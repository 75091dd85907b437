#include "collectives/comm/loopback.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

#include "collectives/base/error.h"
#include "collectives/comm/comm.h"
#include "collectives/transport/message_transport.h"

namespace stretto::runtime {
namespace {

class LoopbackOperation;

// Sends and receives that have found no partner yet, by the rank that receives, in the order they
// were started.
struct Mailbox {
    std::mutex mutex;
    std::list<LoopbackOperation *> sends, receives;
};

class LoopbackOperation final : public Operation {
public:
    LoopbackOperation(Mailbox &box, int peer, bool sends, int from, int tag, void *data,
                      uint64_t bytes, uint64_t *length)
        : Operation(peer, sends), from_(from), tag_(tag), box_(box), data_(data), bytes_(bytes), length_(length) {
        std::lock_guard<std::mutex> lock(box_.mutex);
        auto &partners = sends ? box_.receives : box_.sends;
        auto partner = std::find_if(partners.begin(), partners.end(),
                                    [&](LoopbackOperation *p) { return matches(*p); });
        if (partner == partners.end()) {
            (sends ? box_.sends : box_.receives).push_back(this);
            return;
        }
        LoopbackOperation &send = sends ? *this : **partner, &receive = sends ? **partner : *this;
        bool fits = receive.length_ ? send.bytes_ <= receive.bytes_ : send.bytes_ == receive.bytes_;
        State state = fits ? Done : Failed;
        if (fits && send.bytes_) memcpy(receive.data_, send.data_, send.bytes_);
        if (fits && receive.length_) *receive.length_ = send.bytes_;
        send.others_ = receive.bytes_;
        receive.others_ = send.bytes_;
        (*partner)->state_.store(state, std::memory_order_release);
        state_.store(state, std::memory_order_release);
        partners.erase(partner);
    }

    ~LoopbackOperation() override {
        std::lock_guard<std::mutex> lock(box_.mutex);
        (sends ? box_.sends : box_.receives).remove(this);
    }

    State test() override {
        State state = state_.load(std::memory_order_acquire);
        if (state == Failed) {
            unsigned long long sent = sends ? bytes_ : others_, expected = sends ? others_ : bytes_;
            set_error(STRETTO_SYSTEM, "%llu bytes were sent where %llu are expected", sent,
                      expected);
        }
        return state;
    }

private:
    bool matches(const LoopbackOperation &other) const {
        return tag_ == other.tag_ &&
               (from_ == other.from_ || from_ == any_peer || other.from_ == any_peer);
    }

    const int from_, tag_;
    Mailbox &box_;
    void *const data_;
    const uint64_t bytes_;
    uint64_t *const length_;
    uint64_t others_ = 0;  // bytes of the partner
    std::atomic<State> state_{Pending};
};

class LoopbackTransport final : public MessageTransport {
public:
    LoopbackTransport(int rank, int ranks, const Settings &settings,
                      std::shared_ptr<std::vector<Mailbox>> boxes)
        : MessageTransport(rank, ranks, settings, false), boxes_(std::move(boxes)) {}
    ~LoopbackTransport() override { close(); }

protected:
    Operation *start_send(int peer, int tag, const void *data, uint64_t bytes) override {
        return new LoopbackOperation((*boxes_)[size_t(peer)], peer, true, rank(), tag,
                                     const_cast<void *>(data), bytes, nullptr);
    }
    Operation *start_receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) override {
        return new LoopbackOperation((*boxes_)[size_t(rank())], peer, false, peer, tag, data,
                                     bytes, length);
    }

private:
    std::shared_ptr<std::vector<Mailbox>> boxes_;
};

}  // namespace

int make_message_comms(int n, stretto_comm_t **comms) {
    if (n < 1 || !comms) return set_error(STRETTO_INVALID, "make_message_comms: %d ranks", n);
    Settings settings;
    if (int status = read_settings(&settings)) return status;
    auto boxes = std::make_shared<std::vector<Mailbox>>(size_t(n));
    for (int r = 0; r < n; r++)
        comms[r] = new stretto_comm_t(std::make_unique<LoopbackTransport>(r, n, settings, boxes));
    return STRETTO_OK;
}

}  // namespace stretto::runtime
