// Reductions by lanes: rows, and the blocks of full reductions.
#pragma once
#include "lower/kernel_body.h"

namespace stretto {

// Defines and schedules body.out for a reduction of Order::Lanes, over [lo, hi) of the stage's loops. The sub-blocks' results
// are added to `start`, in order. Whole groups of 64 elements run in vectors along the last reduced index; the elements after
// them in vectors of lanes of their own, which are joined lane by lane: each has one addend more at most, so these are the
// bits of 64 accumulators in one loop.
//
// The linear index of several reduced indices is an index of memory itself where what is read lies without gaps, which the
// kernel finds out when it runs; else it is divided.
void define_lanes(const Stage &, KernelBody &, const std::vector<Expr> &lo, const std::vector<Expr> &hi,
                  const Halide::Target &, const Expr &start);

}  // namespace stretto
