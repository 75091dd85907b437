// The control groups (cgroup v1 and v2) of this process: what a group and those above it are allowed.
#pragma once
#include <string>

namespace stretto::runtime {

// Where they are found; for tests.
struct Groups {
    std::string process = "/proc/self/cgroup", mount = "/sys/fs/cgroup";
};

// No limit anywhere.
constexpr double unlimited = 1e18;

// The least value(folder) of this process's group of a controller and of all groups above it. Each version has files of its
// own.
using GroupValue = double (*)(const std::string &folder);
double least_of_groups(const std::string &controller, GroupValue v1, GroupValue v2, const Groups &groups = {});

// Bytes that may still be taken: limits less what is used, except pages of files that need not stay.
double memory_left_in_groups(const Groups &groups = {});

}  // namespace stretto::runtime
