// In which order a reduction over indices adds up. It follows from the program's text alone, never from a schedule; the
// reference, the kernels and the printer read it here. README.md has the rules, reference.h every step.
#pragma once
#include "lang/graph.h"

namespace stretto {

enum class Order {
    Chain,   // sequential in the reduced indices, the last one fastest; of floats acc = fma(a, b, acc)
    Lanes,   // the linear index of what is reduced, in sub-blocks, each in `order_lanes` accumulators
    Columns  // sequential in the reduced indices, the last one fastest; every operation is rounded
};

inline constexpr int order_lanes = 64;        // accumulators of a sub-block: element o of it goes to number o % 64
inline constexpr int order_sub_block = 4096;  // elements, a multiple of order_lanes

// Of a Reduction or a Blocks node with a value.
//   Chain    a Sum of a product of two factors each of which has a free index that the other lacks
//   Lanes    no free index; or the last reduced index is the last index of every access that uses it
//   Columns  any other
Order order_of(const Node &);

}  // namespace stretto
