#include "tests/worlds/two_hosts.h"

#include <sched.h>

#include <algorithm>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"

namespace stretto::test {
using namespace runtime;
namespace {

class TwoHosts final : public Transport {
public:
    TwoHosts(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far, double timeout)
        : near_(std::move(near)), far_(std::move(far)), timeout_(timeout) {}

    int rank() const override { return near_->rank(); }
    int ranks() const override { return near_->ranks(); }
    int host(int rank) const override { return ranks() > 2 ? rank % 2 : 0; }
    bool reachable(const void *data, uint64_t bytes) const override { return near_->reachable(data, bytes); }
    int enter(const Descriptor &d, const Place *places, int count) override { return near_->enter(d, places, count); }
    int agree() override { return near_->agree(); }
    void *at(int peer, int place) const override { return direct(peer) ? near_->at(peer, place) : nullptr; }
    void *carry(int peer, uint64_t bytes) override { return near_->carry(peer, bytes); }
    const void *carried(int peer, uint64_t bytes) const override { return near_->carried(peer, bytes); }
    int barrier() override { return near_->barrier(); }
    int leave(bool wait) override { return near_->leave(wait); }
    int sub(const std::vector<int> &, std::unique_ptr<Transport> *) override {
        return set_error(STRETTO_INVALID, "no communicator can be made of ranks that pretend to be on two hosts");
    }
    void *allocate(uint64_t bytes, uint64_t align) override { return near_->allocate(bytes, align); }
    void release(void *data) override { near_->release(data); }
    bool owns(const void *data) const override { return near_->owns(data); }
    int fail(int status, const char *text) override { return near_->fail(status, text); }
    int poll() override { return near_->poll(); }

    Request send(int peer, int tag, const void *data, uint64_t bytes) override {
        if (direct(peer)) fail(STRETTO_INVALID, "a message to a rank that is reached by address");
        return far_ ? far_->send(peer, tag, data, bytes) : Request{};
    }
    Request receive(int peer, int tag, void *data, uint64_t bytes) override {
        if (direct(peer)) fail(STRETTO_INVALID, "a message from a rank that is reached by address");
        return far_ ? far_->receive(peer, tag, data, bytes) : Request{};
    }

    int progress(Request *requests, int count, bool wait) override {
        for (double begin = seconds_now();; sched_yield()) {
            int status = poll();
            if (!status && far_->progress(requests, count, false))
                status = fail(STRETTO_SYSTEM, std::string(last_error()).c_str());
            if (!status && wait && seconds_now() - begin > timeout_)
                status = fail(STRETTO_TIMEOUT, "a message has not come within the time of STRETTO_TIMEOUT");
            bool done = std::all_of(requests, requests + count, [](const Request &r) { return !r.impl; });
            if (status) {  // no receive writes any more
                far_.reset();
                std::fill(requests, requests + count, Request{});
            }
            if (status || done || !wait) return status;
        }
    }

private:
    std::unique_ptr<Transport> near_, far_;
    const double timeout_;
};

}  // namespace

std::unique_ptr<Transport> make_two_hosts(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far,
                                          double timeout) {
    return std::make_unique<TwoHosts>(std::move(near), std::move(far), timeout);
}

}  // namespace stretto::test
