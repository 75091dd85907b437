// One communicator, many programs and shapes: what was prepared for one must not be used for another.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

void check(stretto_comm_t *comm, Packed &program, int64_t n) {
    int ranks = stretto_comm_ranks(comm), rank = stretto_comm_rank(comm);
    Floats g(n), out(n);
    for (int64_t i = 0; i < n; i++) g[i] = value(rank, i);
    View vg(g.data(), {n}), vout(out.data(), {n});
    REQUIRE(program(comm, {vg.get(), vout.get()}) == 0);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) wrong += out[i] != sum_of_values(ranks, i);
    CHECK(wrong == 0);
    CHECK(out.intact());
}

}  // namespace

TEST_CASE("more shapes than are kept, in turn") {
    Packed program(all_reduce(1, Carried::Auto));
    on_ranks(World::Threads, 3, [&](stretto_comm_t *comm) {
        for (int round = 0; round < 3; round++)
            for (int64_t n = 0; n < 20; n++) check(comm, program, n * n * 50);
    });
}

TEST_CASE("more programs than are kept") {
    std::vector<Packed> programs;
    for (int k = 0; k < 100; k++) {
        plan::PlanT p = all_reduce(1, k % 2 ? Carried::OneShot : Carried::TwoPhases);
        p.schedule = "number " + std::to_string(k);
        programs.emplace_back(p);
    }
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        for (int round = 0; round < 2; round++)
            for (auto &program : programs) check(comm, program, 100);
    });
}

TEST_CASE("another plan of the same length where one was before") {
    auto first = plan::pack(broadcast(1)), second = plan::pack(broadcast(2));
    REQUIRE(first.size() == second.size());
    on_ranks(World::Threads, 3, [&](stretto_comm_t *comm) {
        std::vector<uint8_t> place(first.size());
        describe_kernels(broadcast(1));
        float a = float(stretto_comm_rank(comm)), b = -1;
        View va(&a, {1}), vb(&b, {1});
        void *argv[] = {va.get(), vb.get()};
        for (int round = 0; round < 4; round++) {
            memcpy(place.data(), (round % 2 ? second : first).data(), place.size());
            View bytes(place.data(), {int64_t(place.size())});
            REQUIRE(stretto_execute_v1(comm, bytes, dispatch, argv) == 0);
            CHECK(b == float(1 + round % 2));
        }
    });
}

TEST_CASE("arguments at other addresses, and good again after bad") {
    Packed program(broadcast(1));
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        std::vector<float> a(8), b(8, -1);
        for (int k = 0; k < 8; k++) a[size_t(k)] = float(10 * stretto_comm_rank(comm) + k);
        for (int k = 0; k < 8; k++) {
            View va(&a[size_t(k)], {1}), vb(&b[size_t(7 - k)], {1});
            REQUIRE(program(comm, {va.get(), vb.get()}) == 0);
            CHECK(b[size_t(7 - k)] == float(10 + k));
        }
    });
    on_ranks(World::Threads, 1, [&](stretto_comm_t *comm) {
        Packed own(broadcast(0));
        float a = 3, b = 0;
        View va(&a, {1}), vb(&b, {1});
        for (int round = 0; round < 3; round++) {
            REQUIRE(own(comm, {va.get(), vb.get()}) == 0);
            CHECK(own(comm, {va.get(), va.get()}) == STRETTO_INVALID);  // overlap
        }
    });
}
