// A rank that fails inside a call is heard by the others; none returns while another may still
// store into its memory.
#include <doctest/doctest.h>

#include <atomic>

#include "collectives/base/clock.h"
#include "ranks.h"

using namespace stretto::test;
using stretto::runtime::seconds_now;
using stretto::runtime::sleep_microseconds;

TEST_CASE("failure: the first text is everybody's, waiting or computing") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        CAPTURE(kind);
        World world(4, kind);
        auto results = world.each([](int rank, stretto_comm_t *c) {
            Transport &t = *c->transport;
            if (int status = t.enter(hashed(describe(3)), nullptr, 0)) return result_of(status);
            if (rank == 2) {
                sleep_microseconds(20'000);
                return result_of(t.fail(STRETTO_KERNEL, "kernel 1 returned -14"));
            }
            if (rank != 3) return result_of(t.barrier());
            for (double begin = seconds_now(); seconds_now() - begin < 60;) {  // chunk after chunk
                sleep_microseconds(1000);
                if (int status = t.poll()) return result_of(status);
            }
            return Result{1, "poll() never said so"};
        });
        for (Result &r : results) {
            CHECK(r.status == STRETTO_KERNEL);
            CHECK(r.text == "rank 2 failed in call 3 (adam): kernel 1 returned -14");
        }
        for (Result &r :
             world.each([](int, stretto_comm_t *c) { return result_of(stretto_barrier(c)); })) {
            CHECK(r.status == STRETTO_KERNEL);  // broken for good
            CHECK(r.text == results[0].text);
        }
    }
}

TEST_CASE("failure: a call returns when its peers have given way, not before") {
    World world(2);
    std::atomic<bool> inside{false}, storing{true};
    auto results = world.each([&](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        int x = 0;
        Place place{&x, sizeof x};
        if (int status = t.enter(hashed(describe()), &place, 1)) return result_of(status);
        if (rank == 0) {
            while (!inside) std::this_thread::yield();  // else rank 1 may learn of it in enter, and never store
            int status = t.fail(STRETTO_KERNEL, "no");
            return storing ? Result{1, "rank 1 is still storing"} : result_of(status);
        }
        inside = true;
        for (double begin = seconds_now(); seconds_now() - begin < 0.2;)
            ++*static_cast<volatile int *>(t.at(0, 0));
        storing = false;
        return result_of(t.poll());
    });
    for (Result &r : results) CHECK(r.status == STRETTO_KERNEL);
    CHECK(results[0].text == "rank 0 failed in call 0 (adam): no");
}

TEST_CASE("failure: a rank that does not give way; its memory is kept until it does") {
    Variable timeout("STRETTO_TIMEOUT", "2");
    World world(3);
    std::atomic<int> step{0}, given_up{0};
    std::atomic<bool> reused{false}, kept{false}, kept_after{true};
    constexpr uint64_t bytes = 4096;
    auto results = world.each([&](int rank, stretto_comm_t *c) {
        Transport &t = *c->transport;
        auto *x = static_cast<char *>(stretto_malloc(c, bytes, 0));
        Place place{x, bytes};
        if (int status = t.enter(hashed(describe(5)), &place, 1)) return result_of(status);
        if (rank == 1) {  // stopped in the middle of a chunk
            while (step < 2) sleep_microseconds(1000);
            memset(t.at(0, 0), 0x55, bytes);  // late stores
            int status = t.poll();
            step = 3;
            return result_of(status);
        }
        Result result = result_of(t.barrier());
        given_up++;
        if (rank != 0) return result;
        stretto_free(c, x);
        kept = stretto_owns(c, x);
        std::vector<char *> others;
        for (int i = 0; i < 100; i++) {
            others.push_back(static_cast<char *>(stretto_malloc(c, bytes, 0)));
            memset(others.back(), 0x11, bytes);
            reused = reused || (others.back() < x + bytes && x < others.back() + bytes);
        }
        while (given_up < 2) sleep_microseconds(1000);
        step = 2;
        while (step < 3) sleep_microseconds(1000);
        for (char *o : others) {
            for (uint64_t i = 0; i < bytes; i++) {
                if (o[i] != 0x11) return Result{1, "a late store has hit memory of somebody else"};
            }
        }
        for (char *o : others) stretto_free(c, o);
        kept_after = stretto_owns(c, x);
        return result;
    });
    std::string stuck =
        "; rank 1 is stopped inside the call and may still write into its buffers, which are kept "
        "from reuse";
    for (int rank : {0, 2}) {
        CHECK(results[size_t(rank)].status == STRETTO_PEER_STUCK);
        const std::string &text = results[size_t(rank)].text;
        CHECK(text.find("rank 1 has not arrived within 2 s (STRETTO_TIMEOUT); rank ") == 0);
        CHECK(text.find("waits in call 5 (adam), barrier 1") != std::string::npos);
        CHECK(text.substr(text.size() - stuck.size()) == stuck);
    }
    CHECK(results[1].status == STRETTO_TIMEOUT);
    CHECK_FALSE(reused);
    CHECK(kept);
    CHECK_FALSE(kept_after);
}

TEST_CASE("failure: before a call, as for an argument that is wrong on one rank only") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        CAPTURE(kind);
        World world(3, kind);
        auto results = world.each([](int rank, stretto_comm_t *c) {
            if (rank == 1)
                return result_of(c->transport->fail(STRETTO_INVALID, "adam: argument g is null"));
            return result_of(agree(*c->transport, hashed(describe())));
        });
        for (Result &r : results) {
            CHECK(r.status == STRETTO_INVALID);
            CHECK(r.text == "rank 1 failed: adam: argument g is null");
        }
    }
}
