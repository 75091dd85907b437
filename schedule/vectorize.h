// vectorize(t, lanes): the kernel of t's stage works on so many elements at a time.
//
//     for i:  t(i) = f(x(i))     =>     for i by lanes:  t(i ... i+lanes) = f(x(i ... i+lanes)), and a remainder
//
// Without it lowering takes the target's natural width. Ordered reductions keep their order: lanes are elements of the
// result, never addends of one. A stage has one number of lanes: what is computed in one stage with t may not have another.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct Vectorize {
    NodeId tensor = -1;
    int lanes = 0;

    static constexpr const char *name = "vectorize";
    static constexpr const char *no_moves = "no vectorize; nothing here has a kernel over a dimension.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensor("tensor", v.tensor), f.number("lanes", v.lanes); }
    static std::vector<Vectorize> moves(const Graph &);
};

// Legal: t is computed by a kernel over at least one dimension; lanes is 1, 2, 4, ... 64.
Graph apply(const Graph &, const Vectorize &);

// Refuses a graph in which two nodes ask for different lanes of one stage.
void check_lanes(const Graph &);

}  // namespace stretto
