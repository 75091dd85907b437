// From a scheduled graph to a plan and its kernels in one Halide module: for the JIT and for artefacts alike.
#pragma once
#include "lower/halide_adapter.h"
#include "lower/kernels.h"
#include "lower/lowering.h"

namespace stretto {

struct LowerOptions {
    Halide::Target target;                                 // of the kernels; features NoRuntime, JIT as the caller needs
    std::vector<int> direct_ranks = default_direct_ranks;  // numbers of ranks with kernels of their own
    std::string function;                                  // name of the compiled function; default: the program's
    std::string schedule;                                  // the schedule's text, kept in the plan
};

struct Lowered {
    Lowering lowering;  // what the passes made, for printing
    plan::PlanT plan;
    std::vector<uint8_t> bytes;  // of the plan
    std::string function;
    Halide::Module module;  // kernels and dispatch
};

// Everything up to kernels: stages, storage, barriers.
Lowering lower_to_stages(const Graph &scheduled);
// Throws Error.
Lowered lower(const Graph &scheduled, const LowerOptions &);

}  // namespace stretto
