// How many cores the ranks of a host may use: waiting by spinning pays only while every rank has one of its own.
#pragma once
#include <sched.h>

namespace stretto::runtime {

// This thread's affinity mask.
cpu_set_t allowed_cores();

// Cores of the mask, but no more than the CPU quota of this process's cgroup and of the groups
// above it allows; at least 1.
int usable_cores(const cpu_set_t &mask);

}  // namespace stretto::runtime
