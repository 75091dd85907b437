// A barrier orders what came before it on all ranks before what comes after it on any, for every
// number of ranks.
#include <doctest/doctest.h>

#include "collectives/clock.h"
#include "ranks.h"

#include <ctime>

using namespace stretto::test;

namespace {

constexpr int rounds = 200;

// Each rank stores the round's number, passes a barrier, checks everybody's, and passes another
// before the next store.
Result count_rounds(std::vector<int> &board, int rank, Transport &t) {
    for (int i = 1; i <= rounds; i++) {
        board[size_t(rank)] = i;
        if (int status = t.barrier()) return result_of(status);
        for (int value : board) {
            if (value != i)
                return {1, "round " + std::to_string(i) + ": a rank has " + std::to_string(value)};
        }
        if (int status = t.barrier()) return result_of(status);
    }
    return {};
}

}  // namespace

TEST_CASE("barrier: nobody passes before all have come") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        for (int ranks : {1, 2, 3, 4, 5, 8}) {
            CAPTURE(kind);
            CAPTURE(ranks);
            World world(ranks, kind);
            std::vector<int> board(size_t(ranks), 0);
            check_fine(world.each([&](int rank, stretto_comm_t *c) {
                return count_rounds(board, rank, *c->transport);
            }));
        }
    }
}

TEST_CASE("barrier: through the C interface, counted") {
    World world(3);
    for (Result &r : world.each([](int, stretto_comm_t *c) {
             for (int i = 0; i < 10; i++) {
                 if (int status = stretto_barrier(c)) return result_of(status);
             }
             stretto_stats stats;
             stretto_get_stats(c, &stats);
             return Result{stats.barriers == 10 ? 0 : 1, ""};
         })) {
        CHECK(r.status == 0);
    }
}

TEST_CASE("barrier: more ranks than cores are quick, and waiting costs no processor time") {
    World world(8);
    std::vector<int> board(8, 0);
    double begin = stretto::runtime::seconds_now();
    world.each(
        [&](int rank, stretto_comm_t *c) { return count_rounds(board, rank, *c->transport); });
    CHECK(stretto::runtime::seconds_now() - begin <
          2);  // 400 barriers; spinning alone takes 4 ms each

    std::clock_t before = std::clock();
    world.each([](int rank, stretto_comm_t *c) {
        if (rank == 0) stretto::runtime::sleep_microseconds(400'000);
        return result_of(c->transport->barrier());
    });
    double used = double(std::clock() - before) / CLOCKS_PER_SEC;
    CHECK(used < 0.1);  // of 7 ranks that waited 0.4 s each
}
