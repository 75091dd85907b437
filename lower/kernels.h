// The back end for CPUs: the Halide kernels of a lowering, and its section of the plan, which says what their arguments are.
#pragma once
#include "lower/halide_adapter.h"
#include "lower/lowering.h"

namespace stretto {

// Numbers of ranks for which a stage that sums over ranks gets a kernel with that many addends. Others sum into scratch.
inline const std::vector<int> default_direct_ranks = {1, 2, 4, 8};

struct Kernels {
    std::vector<Halide::Module> modules;  // by kernel id
    std::unique_ptr<plan::CpuT> section;  // of the plan
};

// Compiles the kernels of every stage, those of equal bodies once, and one that computes all plan scalars and requirements.
// Kernel names begin with `prefix`.
Kernels build_kernels(const Lowering &l, const std::string &prefix, const Halide::Target &target,
                      const std::vector<int> &direct_ranks);

// Would they have the same kernels? Of loops, accesses and bodies everything counts but which buffers and plan scalars.
bool equal_bodies(const Lowering &, const Stage &, const Stage &);

}  // namespace stretto
