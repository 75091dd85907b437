// Reductions that are sequential in the reduced indices: contractions and columns.
#pragma once
#include "lower/kernel_body.h"

namespace stretto {

// Defines and schedules body.out for a reduction of Order::Chain or Order::Columns, over [lo, hi) of the stage's loops. Every
// form computes the same bits.
//
// A product of a part without the last index and a part with it is a matrix product: panels of the second are packed, the
// first is read where it lies if its rows are rows of memory and packed otherwise, and a tile of 6 rows and 4 vectors (2
// without AVX-512) runs over the reduced index in registers. Anything else is vectorised along the last index.
void define_contraction(const Stage &, KernelBody &, const std::vector<Expr> &lo, const std::vector<Expr> &hi,
                        const Halide::Target &);

}  // namespace stretto
