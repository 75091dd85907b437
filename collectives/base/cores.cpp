#include "collectives/base/cores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

namespace stretto::runtime {
namespace {

constexpr double no_quota = 1e9;

// cgroup v2: "max 100000" or "quota period".
double quota_v2(const std::string &folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return no_quota;
    return std::atof(quota.c_str()) / period;
}

double quota_v1(const std::string &folder) {
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
    double quota = -1, period = 0;
    if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return no_quota;
    return quota / period;
}

// The least quota on the way from a group up to its root.
double least(const std::string &root, std::string group, double (*quota)(const std::string &)) {
    double result = quota(root);
    while (!group.empty() && group != "/") {
        result = std::min(result, quota(root + group));
        group.resize(group.rfind('/'));
    }
    return result;
}

double cgroup_quota() {
    double result = no_quota;
    std::ifstream file("/proc/self/cgroup");
    std::string line;
    while (std::getline(file, line)) {  // "0::/group" or "4:cpu,cpuacct:/group"
        size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (group.empty() || group[0] != '/') continue;
        if (controllers.empty()) result = std::min(result, least("/sys/fs/cgroup", group, quota_v2));
        else if (controllers.find("cpu") == 0) {
            result = std::min(result, least("/sys/fs/cgroup/" + controllers, group, quota_v1));
        }
    }
    return result;
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
    double quota = std::floor(std::max(1.0, cgroup_quota()));
    return std::max(1, int(std::min(double(CPU_COUNT(&mask)), quota)));
}

}  // namespace stretto::runtime
