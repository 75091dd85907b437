// <stretto/runtime.hpp>: ranks as threads, exceptions that do not leave the others waiting, row-major views.
#include <doctest/doctest.h>

#include <atomic>

#include <stretto/runtime.hpp>
#include "collectives/base/clock.h"

using namespace stretto;

TEST_CASE("run: every rank, with its own communicator") {
    std::atomic<int> sum{0};
    run(threads(4), [&](Communicator &c) {
        sum += 1 << c.rank();
        CHECK(c.ranks() == 4);
        c.barrier();
        CHECK(sum == 15);
        c.barrier();
    });
}

TEST_CASE("run: the first exception arrives, the others do not hang") {
    std::atomic<int> lost{0};
    CHECK_THROWS_WITH_AS(run(threads(4),
                             [&](Communicator &c) {
                                 if (c.rank() == 2) throw std::logic_error("rank 2 has had enough");
                                 try {
                                     c.barrier();
                                 } catch (const RuntimeError &e) {
                                     if (e.status() == STRETTO_PEER_LOST) lost++;
                                     throw;
                                 }
                             }),
                         "rank 2 has had enough", std::logic_error);
    CHECK(lost == 3);
}

TEST_CASE("run: a rank that returns early is lost to those who wait for it") {
    try {
        run(threads(2), [](Communicator &c) {
            if (c.rank() == 0) c.barrier();
        });
        FAIL("no exception");
    } catch (const RuntimeError &e) {
        CHECK(e.status() == STRETTO_PEER_LOST);
        CHECK(
            std::string(e.what()) ==
            "STRETTO_PEER_LOST: rank 1 lost: it has freed its communicator; rank 0 waits for it in "
            "call 0 (barrier)");
    }
}

TEST_CASE("threads: an impossible number of ranks") {
    CHECK_THROWS_WITH_AS(
        threads(0),
        "STRETTO_INVALID: stretto_comm_threads: 0 ranks; between 1 and 1024 are possible",
        RuntimeError);
}

TEST_CASE("view: row-major; dimension 0 is the last index") {
    float data[6] = {};
    View v = view(data, {2, 3});
    halide_buffer_t *b = v;
    CHECK(b->host == reinterpret_cast<uint8_t *>(data));
    CHECK(b->dimensions == 2);
    CHECK(b->dim[0].extent == 3);
    CHECK(b->dim[0].stride == 1);
    CHECK(b->dim[1].extent == 2);
    CHECK(b->dim[1].stride == 3);
    CHECK(b->dim[0].min == 0);
    CHECK(int(b->type.code) == int(halide_type_float));
    CHECK(int(b->type.bits) == 32);
    View copy = v;
    CHECK(copy.get()->dim != v.get()->dim);
    CHECK(copy.get()->dim[1].stride == 3);
}

TEST_CASE("view: mins, const data, types, no elements") {
    const bfloat16 data[4] = {};
    View v = view(data, {4}, {100});
    CHECK(v.get()->dim[0].min == 100);
    CHECK(int(v.get()->type.code) == int(halide_type_bfloat));
    CHECK(int(v.get()->type.bits) == 16);
    float16 half{};
    CHECK(int(view(&half).get()->type.code) == int(halide_type_float));
    CHECK(view(&half).get()->dimensions == 0);
    uint8_t u = 0;
    CHECK(int(view(&u).get()->type.code) == int(halide_type_uint));
    bool flag = false;
    CHECK(int(view(&flag).get()->type.bits) == 1);
    CHECK(view(&u, {0, 5}).get()->dim[1].stride == 5);
    CHECK(view(&u, {5, 0}).get()->dim[1].stride == 1);
}

TEST_CASE("view: what a halide_buffer_t cannot say") {
    float x = 0;
    CHECK_THROWS_WITH_AS(
        view(&x, {int64_t(1) << 31}),
        "view: dimension 0 has extent 2147483648, min 0 and stride 1; each must fit in 31 bits",
        RuntimeError);
    CHECK_THROWS_AS(view(&x, {-1}), RuntimeError);
    CHECK_THROWS_AS(view(&x, {2, 2}, {0}), RuntimeError);
    CHECK_THROWS_AS(view(&x, {1, 1, 1, 1, 1, 1, 1, 1, 1}), RuntimeError);
}
