// Arguments that peers cannot reach are copied to where they can, and back; counted, or refused if so set.
#include <doctest/doctest.h>

#include <memory>

#include "collectives/comm/comm.h"
#include "collectives/execute/copy.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// Threads that behave as processes do: peers reach only what the transport allocated.
class HeapOnly : public runtime::Transport {
public:
    explicit HeapOnly(std::unique_ptr<Transport> threads) : t_(std::move(threads)) {}
    int rank() const override { return t_->rank(); }
    int ranks() const override { return t_->ranks(); }
    int host(int rank) const override { return t_->host(rank); }
    bool reachable(const void *data, uint64_t) const override { return t_->owns(data); }
    int enter(const runtime::Descriptor &d, const runtime::Place *places, int count) override {
        for (int i = 0; i < count; i++) CHECK((places[i].bytes == 0 || t_->owns(places[i].data)));
        return t_->enter(d, places, count);
    }
    void *at(int peer, int place) const override { return t_->at(peer, place); }
    int agree() override { return t_->agree(); }
    void *carry(int peer, uint64_t bytes) override { return t_->carry(peer, bytes); }
    const void *carried(int peer, uint64_t bytes) const override { return t_->carried(peer, bytes); }
    int barrier() override { return t_->barrier(); }
    int leave(bool wait) override { return t_->leave(wait); }
    int sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) override { return t_->sub(ranks, made); }
    void *allocate(uint64_t bytes, uint64_t align) override { return t_->allocate(bytes, align); }
    void release(void *data) override { t_->release(data); }
    bool owns(const void *data) const override { return t_->owns(data); }
    runtime::Request send(int peer, int tag, const void *data, uint64_t bytes) override {
        return t_->send(peer, tag, data, bytes);
    }
    runtime::Request receive(int peer, int tag, void *data, uint64_t bytes) override {
        return t_->receive(peer, tag, data, bytes);
    }
    int progress(runtime::Request *requests, int count, bool wait) override {
        return t_->progress(requests, count, wait);
    }
    int fail(int status, const char *text) override { return t_->fail(status, text); }
    int poll() override { return t_->poll(); }

private:
    std::unique_ptr<Transport> t_;
};

void heap_only(stretto_comm_t *comm) {
    comm->transport = std::make_unique<HeapOnly>(std::move(comm->transport));
}

stretto_stats stats_of(stretto_comm_t *comm) {
    stretto_stats stats;
    REQUIRE(stretto_get_stats(comm, &stats) == 0);
    return stats;
}

// The fused step with p on the heap or not; g never is.
void check_momentum(int ranks, int64_t n, bool p_on_heap) {
    Packed program(fused_momentum());
    on_ranks(World::Threads, ranks, [&](stretto_comm_t *comm) {
        heap_only(comm);
        int rank = stretto_comm_rank(comm);
        int64_t lo, hi;
        stretto_slice(n, rank, ranks, &lo, &hi);
        Floats g(n), own(n), m(hi - lo, 1);
        float *p = p_on_heap ? static_cast<float *>(stretto_malloc(comm, size_t(n) * 4, 64)) : own.data();
        REQUIRE(p);
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, i), p[i] = value(9, i);
        float lr = 0.5f;
        for (int64_t step = 1; step <= 2; step++) {
            View vg(g.data(), {n}), vp(p, {n}), vm(m.data(), {hi - lo}, {lo});
            int status = program(comm, {vg.get(), vp.get(), vm.get(), &lr});
            if (status) MESSAGE(std::string(stretto_last_error()));
            REQUIRE(status == 0);
            CHECK(stats_of(comm).bytes_bounced ==
                  (ranks == 1 ? 0 : uint64_t(step * n * 4) * (p_on_heap ? 1 : 3)));
        }
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; i++) {
            float sum = sum_of_values(ranks, i), m1 = 0.5f * 1 + sum, m2 = 0.5f * m1 + sum;
            wrong += p[i] != value(9, i) - lr / 2 * m1 - lr / 2 * m2;
            if (i >= lo && i < hi) wrong += m[i - lo] != m2;
        }
        CHECK(wrong == 0);
        CHECK(own.intact());
    });
}

}  // namespace

TEST_CASE("what is not on the heap is copied in and out") {
    for (int ranks : {1, 2, 3, 5})
        for (int64_t n : {int64_t(0), int64_t(1), int64_t(1000), int64_t(100003)})
            for (bool heap : {false, true}) check_momentum(ranks, n, heap);
}

TEST_CASE("threads reach everything: only rows with gaps are copied") {
    Packed program(all_reduce(2, Carried::TwoPhases));
    for (int64_t pitch : {6, 8}) {
        on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
            std::vector<float> g(size_t(10 * pitch), 1), out(size_t(10 * pitch), -1);
            View vg(g.data(), {10, 6}), vout(out.data(), {10, 6});
            vg.get()->dim[1].stride = vout.get()->dim[1].stride = int32_t(pitch);
            REQUIRE(program(comm, {vg.get(), vout.get()}) == 0);
            for (int64_t k = 0; k < 10 * pitch; k++) CHECK(out[size_t(k)] == (k % pitch < 6 ? 2 : -1));
            CHECK(stats_of(comm).bytes_bounced == (pitch == 6 ? 0u : 2u * 10 * 6 * 4));
        });
    }
}

TEST_CASE("small operands that only peers load go with the enter and are not copied besides") {
    Packed program(all_reduce(1, Carried::OneShot));
    for (int64_t n : {100, 2000}) {
        on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
            heap_only(comm);
            Floats g(n, 1), out(n, -1);
            View vg(g.data(), {n}), vout(out.data(), {n});
            REQUIRE(program(comm, {vg.get(), vout.get()}) == 0);
            for (int64_t i = 0; i < n; i++) CHECK(out[i] == 2);
            CHECK(stats_of(comm).bytes_bounced == (n == 100 ? 0u : 2000u * 4));  // of the result peers reach nothing
        });
    }
}

TEST_CASE("streamed copies of every length and alignment") {
    std::vector<uint8_t> from(4096), to(4096);
    for (size_t i = 0; i < from.size(); i++) from[i] = uint8_t(i * 31 + 1);
    for (size_t bytes : {0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 320, 1000, 1023, 1024, 2000})
        for (size_t a = 0; a < 70; a += 3)
            for (size_t b : {size_t(0), size_t(1), size_t(4), size_t(64)}) {
                std::fill(to.begin(), to.end(), uint8_t(0));
                runtime::copy_streamed(to.data() + a, from.data() + b, bytes);
                runtime::finish_streamed();
                size_t wrong = 0;
                for (size_t i = 0; i < to.size(); i++)
                    wrong += to[i] != (i >= a && i < a + bytes ? from[i - a + b] : 0);
                CHECK(wrong == 0);
            }
}

// In a program of its own run, since the setting is read once: see CMakeLists.txt.
TEST_CASE("STRETTO_REQUIRE_HEAP=1 refuses the copy" * doctest::skip(!getenv("STRETTO_REQUIRE_HEAP"))) {
    Packed program(broadcast(0));
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        heap_only(comm);
        Floats a(2000, 1), b(2000, 0);  // too many to go with the enter
        View va(a.data(), {2000}), vb(b.data(), {2000});
        CHECK(program(comm, {va.get(), vb.get()}) == STRETTO_INVALID);
        std::string text = stretto_last_error();
        CHECK(text.find("broadcast: argument a is not in the heap of stretto_malloc and would have to be "
                        "copied, which "
                        "STRETTO_REQUIRE_HEAP=1 forbids") != text.npos);
    });
}
