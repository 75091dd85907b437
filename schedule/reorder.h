// reorder(ag, {c...}): what reads an all-gather is computed on slices instead, and its results are gathered.
//
//     ag = all_gather(x)                   c(i) = f(x(i), q(i))              sliced, as x
//     c(i) = f(ag(i), q(i))        =>      c.ag = all_gather(c)              replicated
//     y(i) = h(c(i))                       y(i) = h(c.ag(i))
//
// Gathers are made only for results that are used outside of the set in full; ag goes if nothing reads it any more. A full
// reduction in the set has its block results computed by the ranks that own them, and those are gathered: their fold, and
// what has no dimension, stay replicated; a reduction inside of a member that does not depend on ag stays as it is. From then
// on `c` means the slice.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct Reorder {
    NodeId gather = -1;
    NodeIds set;

    static constexpr const char *name = "reorder";
    static constexpr const char *no_moves =
        "no reorder; no all-gather here has a set that can move, and no all-reduce can be split.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensor("gather", v.gather), f.tensors("tensors", v.set); }
    // The largest set of each all-gather, found in the order of the graph.
    static std::vector<Reorder> moves(const Graph &);
};

// Legal: ag is an all-gather; every member becomes sliced (or, without a dimension, depends on members that do).
Graph apply(const Graph &, const Reorder &);
Names instead(const Graph &, const Reorder &);

}  // namespace stretto
