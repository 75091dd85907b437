// stretto_malloc among threads: aligned, owned until freed, refused when impossible. stretto_slice.
#include <doctest/doctest.h>

#include <tuple>

#include "ranks.h"

using namespace stretto::test;

TEST_CASE("memory: alignment, ownership") {
    World world(2);
    stretto_comm_t *c = world.comms[0];
    for (size_t align : {0, 1, 8, 64, 4096, 1 << 21}) {
        for (size_t bytes : {0, 1, 63, 64, 1000, 5 << 20}) {
            auto *p = static_cast<char *>(stretto_malloc(c, bytes, align));
            REQUIRE(p);
            CHECK(uintptr_t(p) % (align ? align : 64) == 0);
            memset(p, 1, bytes);
            CHECK(stretto_owns(c, p));
            if (bytes) CHECK(stretto_owns(c, p + bytes - 1));
            stretto_free(c, p);
            CHECK_FALSE(stretto_owns(c, p));
        }
    }
    int local;
    CHECK_FALSE(stretto_owns(c, &local));
    CHECK_FALSE(stretto_owns(c, nullptr));
    stretto_free(c, nullptr);
}

TEST_CASE("memory: what cannot be") {
    World world(1);
    CHECK(stretto_malloc(world.comms[0], 64, 3) == nullptr);
    CHECK(std::string(stretto_last_error()) == "stretto_malloc: alignment 3 is no power of two");
    CHECK(stretto_malloc(world.comms[0], SIZE_MAX, 0) == nullptr);
    CHECK(std::string(stretto_last_error()) ==
          "stretto_malloc: 18446744073709551615 bytes: more than there are addresses");
}

TEST_CASE("slice: balanced, nested, and no overflow") {
    for (int64_t n : {0, 1, 2, 3, 7, 8, 1009}) {
        for (int ranks : {1, 2, 3, 4, 5, 8}) {
            int64_t last = 0;
            for (int r = 0; r < ranks; r++) {
                int64_t begin, end;
                stretto_slice(n, r, ranks, &begin, &end);
                CHECK(begin == last);
                CHECK(end == n * (r + 1) / ranks);
                last = end;
            }
            CHECK(last == n);
        }
    }
    int64_t begin, end;
    for (auto [n, rank, ranks] : {std::tuple<int64_t, int, int>{5, 0, 0}, {5, 1, -1}, {-5, 0, 1}, {5, 2, 2}, {5, -1, 2}}) {
        begin = end = 7;
        stretto_slice(n, rank, ranks, &begin, &end);
        CHECK(begin == 0);
        CHECK(end == 0);
    }
    stretto_slice(INT64_MAX, 6, 7, &begin, &end);
    CHECK(end == INT64_MAX);
    CHECK(begin == int64_t((unsigned __int128)INT64_MAX * 6 / 7));
}
