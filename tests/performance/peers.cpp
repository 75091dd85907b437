// The two programs that measure, beside MPI: whoever changes what a step costs learns here what it was to cost at most.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/performance/bound.h"
#include "tests/performance/spinning.h"

using namespace stretto::test;

namespace {

// MPI's time over that of the schedule, for one size.
double ratio(const std::string &program, const std::string &transport, const std::string &size, const std::string &schedule) {
    std::string file = "bounds_peers." + std::to_string(getpid()) + ".json";
    std::string command = program + " -t " + transport + " -b " + size + " -e " + size + " -s " + schedule +
                          ",peer -r 2 -w 5 -J " + file + " > /dev/null";
    if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
    std::ifstream in(file);
    nlohmann::json result = nlohmann::json::parse(in);
    unlink(file.c_str());
    for (auto &row : result["rows"])
        if (row["schedule"] == schedule) return row["peer_ratio"];
    throw std::runtime_error(command + " gives no row for " + schedule);
}

}  // namespace

int main() {
    Bounds bounds;
    if (cores() < 2) {
        bounds.not_measured("MPI's time over ours", "two ranks need two cores");
        return bounds.status();
    }
    auto step = [&](const std::string &transport, const std::string &size, double least) {
        bounds.at_least("MPI's time over the fused step's, " + transport + ", " + size + "B", least,
                        [&] { return ratio(OPTIMIZER_PERF, transport, size, "fused"); });
    };
    auto all_reduce = [&](const std::string &transport, const std::string &size, double least) {
        bounds.at_least("MPI's time over the all-reduce's, " + transport + ", " + size + "B", least,
                        [&] { return ratio(ALL_REDUCE_PERF, transport, size, "default"); });
    };
    for (const char *shared : {"threads", "shm"}) {
        step(shared, "4K", 1.5);
        for (const char *size : {"64K", "1M"}) step(shared, size, 1.7);
    }
    for (const char *size : {"4K", "64K", "1M"}) step("mpi", size, 1 / 1.3);
    for (const char *shared : {"threads", "shm"}) {
        all_reduce(shared, "8", 1 / 1.5);
        for (const char *size : {"1K", "32K", "1M"}) all_reduce(shared, size, 1);
    }
    return bounds.status();
}
