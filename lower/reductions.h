// Kernels of reductions over loops. Each defines and schedules body.out; every form computes the same bits.
#pragma once
#include "lower/kernel_body.h"

namespace stretto {

// Order::Chain and Order::Columns: contractions and columns, sequential in the reduced indices.
//
// A product of a part without the last index and a part with it is a matrix product: panels of the second are packed, the
// first is read where it lies if its rows are rows of memory and packed otherwise, and a tile of 6 rows and 4 vectors (2
// without AVX-512) runs over the reduced index in registers. Anything else is vectorised along the last index.
void define_contraction(KernelBody &, const Halide::Target &);

// Order::Lanes: rows, and the blocks of full reductions. The sub-blocks' results are added to `start`, in order. Whole groups
// of 64 elements run in vectors along the last reduced index; the elements after them in vectors of lanes of their own, which
// are joined lane by lane: each has one addend more at most, so these are the bits of 64 accumulators in one loop.
//
// The linear index of several reduced indices is an index of memory itself where what is read lies without gaps, which the
// kernel finds out when it runs; else it is divided.
void define_lanes(KernelBody &, const Halide::Target &, const Expr &start);

}  // namespace stretto
