// Random legal schedules give the bits of the unscheduled program; every verb occurs.
#include <doctest/doctest.h>
#include <cstdio>
#include "tests/random/random_schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/same_bits.h"

using namespace stretto;
using namespace stretto::test;

static VerbCounts counts;
static int compared = 0;

template <class P>
static void check(int schedules) {
    P p;
    for (int seed = 0; seed < schedules; seed++) {
        Schedule s = random_schedule(p.program, uint64_t(seed), 20, &counts);
        int ranks = rank_counts[size_t(seed) % rank_counts.size()];
        for (int64_t n : {lengths(ranks)[size_t(seed / 6) % 6], int64_t(17)}) {
            INFO("seed " << seed << ", n = " << n);
            CHECK(difference(p.program, s, sizes_of(p.program, n), ranks) == "");
            compared++;
        }
    }
}

TEST_CASE("random schedules keep the bits") {
    const char *option = std::getenv("STRETTO_RANDOM_SCHEDULES");
    int schedules = option ? std::atoi(option) : 36;
    check<Adam>(schedules);
    check<Lamb>(schedules);
    check<RowParallel>(schedules);
    check<Mixed>(schedules);
    check<Chain>(schedules);
    std::printf("%d comparisons; verbs accepted, refused:", compared);
    for (auto &name : verb_names()) {
        std::printf(" %s %d, %d;", name.c_str(), counts.accepted[name], counts.refused[name]);
        CHECK(counts.accepted[name] > 0);
        if (name != "fuse_all") CHECK(counts.refused[name] > 0);
    }
    std::printf("\n");
}

TEST_CASE("the same seed gives the same schedule") {
    Mixed a, b;
    for (uint64_t seed = 0; seed < 4; seed++)
        CHECK(random_schedule(a.program, seed, 20).text() == random_schedule(b.program, seed, 20).text());
}
