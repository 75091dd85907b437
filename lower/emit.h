// From passes to data: the plan without a back end's section, which build_kernels makes.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Sizes that no whole dimension of a tensor argument carries become int64_t parameters after the program's own, in order.
std::vector<std::string> size_parameters(const Graph &);

plan::PlanT describe(const Lowering &, const std::string &schedule);

plan::Type plan_type(const Type &);

}  // namespace stretto
