// Plans as text for people and golden files, and as JSON for tools. Both are the same from run to run.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/plan/plan_generated.h"

namespace stretto::plan {

// A paragraph an item:
//     stage gsum, avg, p1: sweep
//       i in slice of n
//       reads g[i]@each
//       updates p[i]@each
//       sum 0, float32: kernel 1, loads g
//       kernel 2, scalars lr, sums 0
//       2 ranks: kernel 3, scalars lr, loads g
// Needs a plan that check() accepts.
std::string print(const PlanT &plan);

// FlatBuffers' own JSON: the schema's field names, enums by name, fields that have their default left out.
// Needs bytes that validate() accepts.
std::string print_json(const std::vector<uint8_t> &bytes);

}  // namespace stretto::plan
