// reorder(ag, {c...}): what reads an all-gather is computed on slices instead, and its results are gathered.
//
//     ag = all_gather(x)                   c(i) = f(x(i), q(i))              sliced, as x
//     c(i) = f(ag(i), q(i))        =>      c.ag = all_gather(c)              replicated
//     y(i) = h(c(i))                       y(i) = h(c.ag(i))
//
// Gathers are made only for results that are used outside of the set in full; ag goes if nothing reads it any more. A full
// reduction in the set has its block results computed by the ranks that own them, and those are gathered: their fold, and
// what has no dimension, stay replicated. From then on `c` means the slice.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

struct Reorder {
    NodeId gather;
    NodeIds set;
};

// Legal: ag is an all-gather; every member becomes sliced (or, without a dimension, depends on members that do). Throws Error.
Graph apply(const Graph &, const Reorder &);
std::string to_string(const Graph &before, const Reorder &, const Naming & = name_of);

// The largest set that is legal for this all-gather, found in the order of the graph; empty if there is none.
NodeIds largest_reorder(const Graph &, NodeId gather);

}  // namespace stretto
