// What agreement of processes costs, in multiples of the barest barrier timed beside it, and how soon a rank that is killed
// is missed.
#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "collectives/base/cores.h"
#include "tests/performance/bound.h"
#include "tests/runtime/child.h"

using namespace stretto::test;
using stretto::runtime::allowed_cores;
using stretto::runtime::seconds_now;
using stretto::runtime::usable_cores;

namespace {

struct Microseconds {
    double bare = 1e9, barrier = 1e9, sweep = 1e9;  // the best of five
};

Microseconds measure(int ranks, int rounds) {
    Child job(run_ranks(ranks, {"latency", std::to_string(rounds)}));
    Microseconds best;
    for (const std::string &line : job.lines()) {
        double bare, barrier, sweep;
        if (sscanf(line.c_str(), "rank 0: bare %lf barrier %lf sweep %lf", &bare, &barrier, &sweep) != 3)
            throw std::runtime_error(line);
        best.bare = std::min(best.bare, bare);
        best.barrier = std::min(best.barrier, barrier);
        best.sweep = std::min(best.sweep, sweep);
    }
    if (job.wait() != 0) throw std::runtime_error("rank_program latency failed");
    return best;
}

// A bare barrier that is quicker than `quick` counts as that.
void latency(Bounds &bounds, const std::string &where, int ranks, int rounds, double quick) {
    auto figure = [&](double Microseconds::*what) {
        return [=] {
            Microseconds m = measure(ranks, rounds);
            char text[64];
            snprintf(text, sizeof text, "%.2f us, a bare barrier %.2f", m.*what, m.bare);
            return Figure(m.*what / std::max(m.bare, quick), text);
        };
    };
    bounds.at_most("barrier, " + where + ", in bare barriers", 3, figure(&Microseconds::barrier));
    bounds.at_most("enter and leave, " + where + ", in bare barriers", 6, figure(&Microseconds::sweep));
}

// Milliseconds until the others report that rank 2 of 4 was killed, which is in a loop of barriers: the median of ten.
double killed() {
    std::vector<double> times;
    for (int repeat = 0; repeat < 10; repeat++) {
        Child job(run_ranks(4, {"loop"}));
        std::string line;
        pid_t victim = 0;
        for (int r = 0, rank = 0, pid = 0; r < 4 && job.line(&line); r++)
            if (sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2 && rank == 2) victim = pid;
        stretto::runtime::sleep_microseconds(10'000 + 1700 * repeat);
        double begin = seconds_now(), at = 0;
        if (!victim || kill(victim, SIGKILL) != 0) throw std::runtime_error("rank_program loop failed");
        for (int r = 0, rank = 0; r < 3 && job.line(&line); r++)
            if (sscanf(line.c_str(), "rank %d: at %lf", &rank, &at) == 2) times.push_back((at - begin) * 1e3);
        if (job.wait() != 128 + SIGKILL) throw std::runtime_error(line);
    }
    std::sort(times.begin(), times.end());
    return times.at(times.size() / 2);
}

}  // namespace

int main() {
    Bounds bounds;
    const cpu_set_t all = allowed_cores();
    if (usable_cores(all) >= 2) latency(bounds, "2 processes", 2, 50000, 1.0 / 3);
    else bounds.not_measured("barrier, 2 processes", "two ranks need two cores");
    cpu_set_t two;
    CPU_ZERO(&two);
    for (int core = 0, taken = 0; core < CPU_SETSIZE && taken < 2; core++)
        if (CPU_ISSET(core, &all)) CPU_SET(core, &two), taken++;
    sched_setaffinity(0, sizeof two, &two);
    latency(bounds, "8 processes on 2 cores", 8, 2000, 25.0 / 3);
    sched_setaffinity(0, sizeof all, &all);
    bounds.at_most("a killed rank is missed after, ms", 100, killed);
    return bounds.status();
}
