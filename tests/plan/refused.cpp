// An error that every rank finds before anything is stored breaks nothing; one that only some find is everybody's, at once.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collectives/comm/comm.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// The two-rank-or-more all-reduce of n elements, out with one element too many or not.
struct Call {
    Packed program{all_reduce(1, Carried::Auto)};
    std::string text;

    int operator()(stretto_comm_t *comm, int64_t n, bool wrong) {
        int rank = stretto_comm_rank(comm), ranks = stretto_comm_ranks(comm);
        Floats g(n), out(n + 1);
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, i);
        View vg(g.data(), {n}), vout(out.data(), {wrong ? n + 1 : n});
        int status = program(comm, {vg.get(), vout.get()});
        text = status ? stretto_last_error() : "";
        if (status) {
            for (int64_t i = 0; i <= n; i++) CHECK(out[i] == -77);
        } else {
            for (int64_t i = 0; i < n; i++) CHECK(out[i] == sum_of_values(ranks, i));
        }
        return status;
    }
};

const std::string wrong_extent =
    "all_reduce: argument out: dimension 0 has extent 6; required is n = 5, as dimension 0 of g";

}  // namespace

TEST_CASE("a wrong extent on every rank: all refuse, and may call again") {
    for (World world : every_world) {
        for (int ranks : {2, 3, 5}) {
            on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                Call call;
                for (int i = 0; i < 3; i++) {
                    CHECK(call(comm, 5, true) == STRETTO_INVALID);
                    CHECK(call.text == wrong_extent);
                    CHECK(call(comm, 5000, false) == 0);
                    CHECK(stretto_barrier(comm) == 0);
                }
            });
        }
    }
}

TEST_CASE("each rank for a reason of its own: each is told its own, and may call again") {
    for (World world : every_world) {
        on_ranks(world, 3, [&](stretto_comm_t *comm) {
            Call call;
            if (stretto_comm_rank(comm) == 1) {
                CHECK(call.program(comm, {nullptr, nullptr}) == STRETTO_INVALID);
                CHECK(std::string(stretto_last_error()) == "all_reduce: argument g is null");
            } else {
                CHECK(call(comm, 5, true) == STRETTO_INVALID);
                CHECK(call.text == wrong_extent);
            }
            CHECK(call(comm, 100, false) == 0);
        });
    }
}

TEST_CASE("on some ranks only: an error on every rank, that of one of them, and that is the end") {
    for (World world : every_world) {
        on_ranks(world, 4, [&](stretto_comm_t *comm) {
            Call call;
            int rank = stretto_comm_rank(comm);
            CHECK(call(comm, 5, rank == 1 || rank == 2) == STRETTO_INVALID);
            const std::string first = call.text;
            CHECK((first == "rank 1 failed: " + wrong_extent || first == "rank 2 failed: " + wrong_extent));
            for (bool wrong : {false, true}) {
                CHECK(call(comm, 5, wrong) == STRETTO_INVALID);  // as every call on a broken communicator
                CHECK(call.text == first);
            }
        });
    }
}

TEST_CASE("where one refuses and another does not, nobody waits for the others") {
    for (World world : every_world) {
        std::atomic<int> told{0};
        on_ranks(world, 4, [&](stretto_comm_t *comm) {
            Call call;
            int rank = stretto_comm_rank(comm);
            while (rank % 2 && told < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(call(comm, 5, rank == 2) == STRETTO_INVALID);
            CHECK(call.text == "rank 2 failed: " + wrong_extent);
            told++;
        });
    }
}

TEST_CASE("a rank that refuses and one that calls something else") {
    for (World world : every_world) {
        on_ranks(world, 2, [&](stretto_comm_t *comm) {
            Call call;
            int status = stretto_comm_rank(comm) ? stretto_barrier(comm) : call(comm, 5, true);
            CHECK(status == STRETTO_INVALID);
            CHECK(std::string(stretto_last_error()) == "rank 0 failed: " + wrong_extent);
        });
    }
}
