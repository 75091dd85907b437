// What agreement costs. The bounds are loose, for machines that do something else as well; the figures are printed.
#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "child.h"
#include "collectives/cores.h"

using namespace stretto::test;

namespace {

struct Figures {
    double barrier = 1e9, sweep = 1e9;    // microseconds, the best of five
};

Figures measure(int ranks, int rounds) {
    Child job(run_ranks(ranks, {"latency", std::to_string(rounds)}));
    Figures best;
    for (const std::string &line : job.lines(60)) {
        double barrier, sweep;
        REQUIRE(sscanf(line.c_str(), "rank 0: barrier %lf sweep %lf", &barrier, &sweep) == 2);
        best.barrier = std::min(best.barrier, barrier);
        best.sweep = std::min(best.sweep, sweep);
    }
    CHECK(job.wait() == 0);
    int cores = stretto::runtime::usable_cores(stretto::runtime::allowed_cores());
    printf("%d ranks on %d cores: barrier %.2f us, enter and leave %.2f us\n", ranks, cores, best.barrier, best.sweep);
    return best;
}

}  // namespace

TEST_CASE("latency: two ranks") {
    if (stretto::runtime::usable_cores(stretto::runtime::allowed_cores()) < 2) {
        Figures f = measure(2, 2000);
        CHECK(f.barrier < 25);
        return;
    }
    Figures f = measure(2, 50000);
    CHECK(f.barrier < 1);
    CHECK(f.sweep < 2);
}

TEST_CASE("latency: eight ranks, more than there are cores on small machines") {
    // A 4-byte all-reduce is an enter and a barrier: 50 us at most.
    cpu_set_t all = stretto::runtime::allowed_cores(), two;
    CPU_ZERO(&two);
    for (int core = 0, taken = 0; core < CPU_SETSIZE && taken < 2; core++) {
        if (CPU_ISSET(core, &all)) {
            CPU_SET(core, &two);
            taken++;
        }
    }
    sched_setaffinity(0, sizeof two, &two);
    Figures f = measure(8, 2000);
    sched_setaffinity(0, sizeof all, &all);
    CHECK(f.barrier < 25);
    CHECK(f.sweep < 50);
}
