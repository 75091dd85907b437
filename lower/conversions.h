// Conversions between floats that keep every value, on every target.
#pragma once
#include "Halide.h"

namespace stretto {

// A pass over lowered code. Halide 21 computes conversions of floats with LLVM's fast-math flags, which strict_float does not
// reach: NaN and infinity are then undefined, and tests for them fold to false. This gives those values from the integer
// bits, and computes the others by the flagged instruction (where the value is finite and stays so the flags mean nothing),
// or by integers where the target has no instruction (bfloat16; float16 without F16C). A float16 or bfloat16 is converted
// from and to by way of float32, with rounding to nearest even; a NaN becomes one NaN.
//   cast<float>(h)   ->   select(h is NaN or infinite, its bits as a float's, cast<float>(h))
Halide::Internal::IRMutator *make_conversions_exact(const Halide::Target &);

}  // namespace stretto
