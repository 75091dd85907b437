// The Halide kernels of a lowering, and what the plan says of their arguments.
#pragma once
#include "lower/halide_adapter.h"
#include "lower/lowering.h"

namespace stretto {

// Numbers of ranks for which a stage that sums over ranks gets a kernel with that many addends. Others sum into scratch.
inline const std::vector<int> default_direct_ranks = {1, 2, 4, 8};

struct Kernels {
    std::vector<Halide::Module> modules;  // by kernel id
    std::vector<std::string> names;
    int scalar_kernel = -1;  // computes all plan scalars
};

// Compiles the kernels of every stage and writes them into plan.stages (one a stage of l, in order, already there), with the
// requirements' plan scalars and plan.scalars. Kernel names begin with `prefix`.
Kernels build_kernels(const Lowering &l, plan::PlanT &plan, const std::string &prefix, const Halide::Target &target,
                      const std::vector<int> &direct_ranks);

plan::Type plan_type(const Type &);

}  // namespace stretto
