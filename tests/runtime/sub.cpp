// Communicators of some ranks of another: what is wrong is said, and a failure of one is heard in all.
#include <doctest/doctest.h>

#include <atomic>

#include "collectives/base/clock.h"
#include "ranks.h"

using namespace stretto::test;

namespace {

int sub(stretto_comm_t *parent, const std::vector<int> &ranks, stretto_comm_t **comm) {
    return stretto_comm_sub(parent, ranks.data(), int(ranks.size()), comm);
}

}  // namespace

TEST_CASE("sub: lists that cannot be are refused by the rank that has them, and break nothing") {
    World world(3);
    stretto_comm_t *c = nullptr, *one = world.comms[1];
    auto text = [&](const std::vector<int> &ranks) {
        CHECK(sub(one, ranks, &c) == STRETTO_INVALID);
        return std::string(stretto_last_error());
    };
    CHECK(text({}) == "stretto_comm_sub: 0 of 3 ranks");
    CHECK(text({0, 1, 2, 1}) == "stretto_comm_sub: 4 of 3 ranks");
    CHECK(text({1, 3}) == "stretto_comm_sub: rank 3 is in the list; there are 3 ranks");
    CHECK(text({1, -1}) == "stretto_comm_sub: rank -1 is in the list; there are 3 ranks");
    CHECK(text({1, 2, 1}) == "stretto_comm_sub: rank 1 is twice in the list");
    CHECK(text({0, 2}) == "stretto_comm_sub: this rank, 1, is not in the list; only those that are call");
    CHECK(stretto_comm_sub(one, nullptr, 1, &c) == STRETTO_INVALID);
    CHECK(stretto_comm_sub(nullptr, nullptr, 1, &c) == STRETTO_INVALID);
    check_fine(world.each([](int, stretto_comm_t *own) { return result_of(stretto_barrier(own)); }));
}

TEST_CASE("sub: ranks whose lists differ are told so") {
    const std::vector<std::vector<std::vector<int>>> cases = {{{0, 1}, {1, 0}}, {{0, 1, 2}, {0, 1}}, {{0, 1}, {2, 0, 1}}};
    for (World::Kind kind : {World::Shared, World::Messages}) {
        for (auto &lists : cases) {
            World world(3, kind);
            auto results = world.each([&](int rank, stretto_comm_t *own) {
                stretto_comm_t *c = nullptr;
                if (rank == 2) {  // hears of it in whatever it does
                    return result_of(stretto_barrier(own));
                }
                return result_of(sub(own, lists[size_t(rank)], &c));
            });
            for (Result &r : results) {
                CHECK(r.status == STRETTO_MISMATCH);
                CHECK(r.text.find("ranks differ in the communicator that they make: rank ") == 0);
            }
        }
    }
}

TEST_CASE("sub: pairs are made side by side, members only, each in an order of its own") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        World world(4, kind);
        check_fine(world.each([](int rank, stretto_comm_t *own) {
            // Rank 0 leads with 1, 2 and 3 in turn; those come at once.
            for (int peer = 1; peer < 4; peer++) {
                if (rank != 0 && rank != peer) continue;
                stretto_comm_t *c = nullptr;
                if (int status = sub(own, {0, peer}, &c)) return result_of(status);
                for (int i = 0; i < 10; i++)
                    if (int status = stretto_barrier(c)) return result_of(status);
                if (stretto_comm_rank(c) != (rank != 0) || stretto_comm_ranks(c) != 2) return Result{1, "numbering"};
                stretto_comm_free(c);
            }
            return Result{};
        }));
    }
}

TEST_CASE("sub: a failure in one communicator is heard in all others of the world") {
    Variable timeout("STRETTO_TIMEOUT", "20");  // where nobody hears it
    for (World::Kind kind : {World::Shared, World::Messages}) {
        World world(4, kind);
        std::atomic<int> waiting{0};
        auto results = world.each([&](int rank, stretto_comm_t *own) {
            stretto_comm_t *c = nullptr;
            if (int status = sub(own, rank < 2 ? std::vector<int>{1, 0} : std::vector<int>{2, 3}, &c))
                return result_of(status);
            Result result;
            if (rank == 1) {  // rank 0 of its pair
                while (waiting < 3) stretto::runtime::sleep_microseconds(1000);
                result = result_of(c->transport->fail(STRETTO_KERNEL, "no"));
            } else {
                waiting++;
                // Rank 0 in the pair's barrier, 2 in the other pair's, 3 in that of all.
                result = result_of(stretto_barrier(rank == 3 ? own : c));
            }
            if (stretto_barrier(c) != STRETTO_KERNEL || stretto_barrier(own) != STRETTO_KERNEL)
                result = {1, "one of them is not broken"};
            stretto_comm_free(c);
            return result;
        });
        for (Result &r : results) {
            CHECK(r.status == STRETTO_KERNEL);
            CHECK(r.text == "rank 0 failed: no (in a communicator of the world's ranks 1, 0)");
        }
    }
}

TEST_CASE("sub: a rank that does not come, or has left") {
    Variable timeout("STRETTO_TIMEOUT", "0.3");
    for (World::Kind kind : {World::Shared, World::Messages}) {
        World world(2, kind);
        stretto_comm_t *c = nullptr;
        CHECK(sub(world.comms[0], {1, 0}, &c) == STRETTO_TIMEOUT);
        CHECK(std::string(stretto_last_error()).find("rank 1 has not a") == 0);
    }
    World world(2);
    stretto_comm_free(world.comms[1]);
    world.comms[1] = nullptr;
    stretto_comm_t *c = nullptr;
    CHECK(sub(world.comms[0], {1, 0}, &c) == STRETTO_PEER_LOST);
    CHECK(std::string(stretto_last_error()) ==
          "rank 1 lost: it has freed its communicator; rank 0 makes a communicator with it");
}
