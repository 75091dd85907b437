// The sum over ranks of what perf::fill gives them, in rank order: what the schedules must give bit for bit.
#pragma once
#include "apps/perf/values.h"

namespace all_reduce_perf {

inline float serial_sum(int64_t i, int ranks) {
    float sum = perf::value<perf::Element::Float>(0, i);
    for (int r = 1; r < ranks; r++) sum = sum + perf::value<perf::Element::Float>(r, i);
    return sum;
}

}  // namespace all_reduce_perf
