// Integers that wrap.
#pragma once
#include "Halide.h"

namespace stretto {

// A pass over lowered code. The language's integers wrap; Halide 21 compiles sums, differences and products of signed 32 and
// 64 bits as such that never overflow, from which LLVM concludes things (a square is not negative). In what is stored they
// become unsigned; where elements lie (indices of loads and stores) is left as it is, and does not overflow.
//   o[i] = x[i] * x[i]   ->   o[i] = int32(uint32(x[i]) * uint32(x[i]))
Halide::Internal::IRMutator *make_integers_wrap();

}  // namespace stretto
