// Epoch counters pass 2^8, 2^31 and 2^32 without anybody noticing (torchcomms#2133).
#include <doctest/doctest.h>

#include "collectives/transport/lines.h"
#include "ranks.h"

using namespace stretto::test;

TEST_CASE("epochs are compared by their difference") {
    using stretto::runtime::reached;
    CHECK(reached(5, 5));
    CHECK(reached(6, 5));
    CHECK_FALSE(reached(4, 5));
    CHECK(reached(0, UINT32_MAX));
    CHECK_FALSE(reached(UINT32_MAX, 0));
    CHECK(reached(0x80000000u, 0x7fffffffu));
    CHECK_FALSE(reached(0x7fffffffu, 0x80000000u));
}

TEST_CASE("ten calls across each wrap-around") {
    for (const char *start : {"253", "2147483645", "4294967293"}) {
        CAPTURE(start);
        Variable epoch("STRETTO_TEST_EPOCH", start);
        World world(3);
        check_fine(world.each([](int rank, stretto_comm_t *c) {
            Transport &t = *c->transport;
            int64_t mine[2] = {0, 0};
            for (uint32_t i = 0; i < 10; i++) {
                mine[0] = rank * 100 + i;
                Place place{mine, sizeof mine};
                if (int status = t.enter(hashed(describe(i)), &place, 1))
                    return result_of(status);
                for (int q = 0; q < 3; q++) {
                    if (*static_cast<int64_t *>(t.at(q, 0)) != int64_t(q * 100 + i))
                        return Result{1, "a stale value"};
                }
                if (int status = t.leave(true)) return result_of(status);
            }
            return Result{};
        }));
    }
}

TEST_CASE("a start that is no 32-bit number is refused") {
    for (const char *start : {"abc", "4294967296", ""}) {
        Variable epoch("STRETTO_TEST_EPOCH", start);
        stretto_comm_t *c;
        CHECK(stretto_comm_threads(1, &c) == STRETTO_INVALID);
        CHECK(std::string(stretto_last_error()) ==
              "STRETTO_TEST_EPOCH=" + std::string(start) + ": a 32-bit unsigned number is needed");
    }
}
