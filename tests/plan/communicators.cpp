// Communicators of some ranks of another: their order is that of the list, in every bit, and they share one heap.
#include <doctest/doctest.h>

#include "collectives/comm/comm.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// The all-reduce over `comm`, of values of ranks of the world, is the sum in the order of the list; with arguments from the
// heap of `heap`.
void check_sum(stretto_comm_t *comm, stretto_comm_t *heap, const std::vector<int> &order, int64_t n) {
    Packed program(all_reduce(1, Carried::Auto));
    REQUIRE(stretto_comm_ranks(comm) == int(order.size()));
    int world_rank = order[size_t(stretto_comm_rank(comm))];
    auto *g = static_cast<float *>(stretto_malloc(heap, size_t(n) * 4, 0));
    auto *out = static_cast<float *>(stretto_malloc(comm, size_t(n) * 4, 0));
    REQUIRE(g);
    REQUIRE(out);
    CHECK(stretto_owns(comm, g));
    CHECK(stretto_owns(heap, out));
    for (int64_t i = 0; i < n; i++) g[i] = value(world_rank, i);
    View vg(g, {n}), vout(out, {n});
    int status = program(comm, {vg.get(), vout.get()});
    if (status) MESSAGE(std::string(stretto_last_error()));
    REQUIRE(status == 0);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        float sum = value(order[0], i);
        for (size_t q = 1; q < order.size(); q++) sum += value(order[q], i);
        wrong += out[i] != sum;
    }
    CHECK(wrong == 0);
    stretto_free(comm, g);
    stretto_free(heap, out);
}

stretto_comm_t *sub(stretto_comm_t *parent, const std::vector<int> &ranks) {
    stretto_comm_t *comm = nullptr;
    int status = stretto_comm_sub(parent, ranks.data(), int(ranks.size()), &comm);
    if (status) MESSAGE(std::string(stretto_last_error()));
    REQUIRE(status == 0);
    return comm;
}

bool differ(const std::vector<int> &a, const std::vector<int> &b) {
    bool found = false;
    for (int64_t i = 0; i < 1000; i++) {
        float x = value(a[0], i), y = value(b[0], i);
        for (size_t q = 1; q < a.size(); q++) x += value(a[q], i), y += value(b[q], i);
        found |= x != y;
    }
    return found;
}

}  // namespace

TEST_CASE("the order of the list is the order of the sum") {
    const std::vector<int> all = {0, 1, 2, 3, 4}, turned = {3, 0, 4, 1, 2};
    REQUIRE(differ(all, turned));
    for (World world : {World::Threads, World::Messages}) {
        on_ranks(world, 5, [&](stretto_comm_t *comm) {
            stretto_comm_t *other = sub(comm, turned);
            for (int64_t n : lengths(5)) {
                check_sum(comm, comm, all, n);
                check_sum(other, comm, turned, n);
            }
            stretto_comm_free(other);
        });
    }
}

TEST_CASE("rows and columns of eight ranks, used in turn, freed in any order") {
    for (World world : {World::Threads, World::Messages}) {
        on_ranks(world, 8, [&](stretto_comm_t *comm) {
            int rank = stretto_comm_rank(comm), row = rank / 4, column = rank % 4;
            std::vector<int> in_row, in_column;
            for (int k = 0; k < 4; k++) in_row.push_back(4 * row + (k + 3) % 4);
            for (int k = 2; k-- > 0;) in_column.push_back(4 * k + column);
            for (int repeat = 0; repeat < 3; repeat++) {
                stretto_comm_t *of_row = nullptr, *of_column = nullptr;
                of_row = sub(comm, in_row);
                of_column = sub(comm, in_column);
                for (int64_t n : {int64_t(5), int64_t(3000)}) {
                    check_sum(of_row, of_column, in_row, n);
                    check_sum(of_column, comm, in_column, n);
                }
                CHECK(stretto_barrier(comm) == 0);
                stretto_comm_free(rank % 2 ? of_row : of_column);
                CHECK(stretto_barrier(comm) == 0);
                stretto_comm_free(rank % 2 ? of_column : of_row);
            }
        });
    }
}

TEST_CASE("the parent is freed first; a communicator of a communicator; of one rank") {
    for (World world : {World::Threads, World::Messages}) {
        on_ranks(world, 4, [&](stretto_comm_t *comm) {
            int rank = stretto_comm_rank(comm);
            stretto_comm_t *parent = sub(comm, {0, 1, 2, 3});
            if (rank == 2) {
                stretto_comm_t *own = sub(parent, {2});
                stretto_comm_free(parent);
                check_sum(own, own, {2}, 100);
                stretto_comm_free(own);
                return;
            }
            stretto_comm_t *three = sub(parent, {3, 0, 1});
            stretto_comm_free(parent);
            check_sum(three, three, {3, 0, 1}, 10000);
            if (rank != 0) {
                stretto_comm_t *two = sub(three, {2, 0});  // ranks 1 and 3 of the world
                stretto_comm_free(three);
                check_sum(two, two, {1, 3}, 10000);
                stretto_comm_free(two);
            } else {
                stretto_comm_free(three);
            }
        });
    }
}
