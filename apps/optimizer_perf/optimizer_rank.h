// One rank of the compiled optimizer.
#pragma once
#include <stretto/runtime.hpp>
#include "apps/perf/rank.h"

namespace optimizer_perf {

// type: float, half or bfloat16, of the gradient. Schedules: default, on_slices, fused.
std::unique_ptr<perf::Rank> make_rank(stretto::Communicator, const std::string &type);

}  // namespace optimizer_perf
