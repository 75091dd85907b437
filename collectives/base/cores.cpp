#include "collectives/base/cores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "collectives/base/cgroup.h"

namespace stretto::runtime {
namespace {

// cgroup v2: "max 100000" or "quota period".
double quota_v2(const std::string &folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return unlimited;
    return std::atof(quota.c_str()) / period;
}

double quota_v1(const std::string &folder) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
    double quota = -1, period = 0;
    if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return unlimited;
    return quota / period;
}

}  // namespace

cpu_set_t allowed_cores() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    // More than 1024 processors: the call fails and one core is assumed, which only makes waits yield sooner.
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) CPU_SET(0, &mask);
    return mask;
}

int usable_cores(const cpu_set_t &mask) {
    double quota = std::floor(std::max(1.0, least_of_groups("cpu", quota_v1, quota_v2)));
    return std::max(1, int(std::min(double(CPU_COUNT(&mask)), quota)));
}

}  // namespace stretto::runtime
