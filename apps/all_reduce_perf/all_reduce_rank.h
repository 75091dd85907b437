// One rank of the compiled all-reduce.
#pragma once
#include <stretto/runtime.hpp>
#include "apps/perf/rank.h"

namespace all_reduce_perf {

// type: float. Schedules: default, one_shot, two_phase.
std::unique_ptr<perf::Rank> make_rank(stretto::Communicator, const std::string &type);

}  // namespace all_reduce_perf
