// vectorize(t, lanes): the kernel of t's stage works on so many elements at a time.
//
//     for i:  t(i) = f(x(i))     =>     for i by lanes:  t(i ... i+lanes) = f(x(i ... i+lanes)), and a remainder
//
// Without it lowering takes the target's natural width. Ordered reductions keep their order: lanes are elements of the
// result, never addends of one.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

struct Vectorize {
    NodeId tensor;
    int lanes;
};

// Legal: t is computed by a kernel over at least one dimension; lanes is 1, 2, 4, ... 64. Throws Error.
Graph apply(const Graph &, const Vectorize &);
std::string to_string(const Graph &before, const Vectorize &, const Naming & = name_of);

}  // namespace stretto
