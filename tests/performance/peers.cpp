// The two programs that measure, beside MPI: whoever changes what a step costs learns here what it was to cost at most.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"
#include "tests/skip.h"

using namespace stretto::test;

namespace {

// MPI's time over that of the schedule, by size.
std::map<int64_t, double> ratios(const std::string &program, const std::string &options, const std::string &schedule) {
    std::string file = "performance_peers." + std::to_string(getpid()) + ".json";
    std::string command = program + " " + options + " -s " + schedule + ",peer -r 2 -w 5 -J " + file + " > /dev/null";
    REQUIRE_MESSAGE(std::system(command.c_str()) == 0, command);
    std::ifstream in(file);
    nlohmann::json result = nlohmann::json::parse(in);
    unlink(file.c_str());
    std::map<int64_t, double> by_size;
    for (auto &row : result["rows"]) {
        CHECK(row["wrong"] == 0);
        if (row["schedule"] == schedule) by_size[row["size"]] = row["peer_ratio"];
    }
    return by_size;
}

// least: by size, up to which it holds.
void require_ratios(const std::string &program, const std::string &options, const std::string &schedule,
                    const std::map<int64_t, double> &least) {
    std::map<int64_t, double> best;
    auto bound = [&](int64_t size) { return least.lower_bound(size)->second; };
    auto met = [&] {
        for (auto &[size, ratio] : best)
            if (ratio < bound(size)) return false;
        return !best.empty();
    };
    for (int attempt = 0; attempt < attempts && !met(); attempt++) {
        printf("%s, MPI's time over ours:", options.c_str());
        for (auto &[size, ratio] : ratios(program, options, schedule)) {
            printf(" %lld B %.2f (at least %.2f)", static_cast<long long>(size), ratio, bound(size));
            best[size] = std::max(best[size], ratio);
        }
        printf("\n");
        fflush(stdout);
    }
    CHECK(met());
}

void skip_without_cores() {
    if (cores() < 2) skip("performance.peers", "two ranks need two cores");
}

constexpr int64_t K = 1 << 10, M = 1 << 20;

}  // namespace

TEST_CASE("the fused optimizer step beside MPI_Allreduce and a loop") {
    skip_without_cores();
    for (const char *shared : {"-t threads", "-t shm"})
        require_ratios(OPTIMIZER_PERF, std::string(shared) + " -b 4K -e 1M -f 16", "fused", {{4 * K, 1.5}, {M, 1.7}});
    require_ratios(OPTIMIZER_PERF, "-t mpi -b 4K -e 1M -f 16", "fused", {{M, 1 / 1.3}});
}

TEST_CASE("the all-reduce beside MPI_Allreduce") {
    skip_without_cores();
    for (const char *shared : {"-t threads", "-t shm"}) {
        require_ratios(ALL_REDUCE_PERF, std::string(shared) + " -b 8 -e 8", "default", {{8, 1 / 1.5}});
        require_ratios(ALL_REDUCE_PERF, std::string(shared) + " -b 1K -e 1M -f 32", "default", {{M, 1}});
    }
}
