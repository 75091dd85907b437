// A barrier orders what came before it on all ranks before what comes after it on any, for every
// number of ranks.
#include <doctest/doctest.h>

#include <atomic>

#include "ranks.h"
#include "tests/sleeping.h"

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

TEST_CASE("barrier: more ranks than cores; who waits sleeps") {
    World world(8);
    std::vector<int> board(8, 0);
    check_fine(world.each([&](int rank, stretto_comm_t *c) { return count_rounds(board, rank, *c->transport); }));

    std::atomic<pid_t> threads[8] = {};
    check_fine(world.each([&](int rank, stretto_comm_t *c) {
        threads[rank] = this_thread();
        bool asleep = true;
        for (int other = 1; rank == 0 && other < 8; other++) asleep = asleep && falls_asleep(threads[other]);
        Result result = result_of(c->transport->barrier());
        return asleep ? result : Result{1, "a rank that waits does not sleep"};
    }));
}
