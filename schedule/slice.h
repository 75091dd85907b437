// slice(t, dim): what every rank computes in full is computed on slices and gathered.
//
//     t(i, j) = f(q(i, j))        =>       t(i, j) = slice_of(f(q(i, j)), dim)      sliced(dim)
//     y(i, j) = g(t(i, j))                 t.ag = all_gather(t)                     replicated
//                                          y(i, j) = g(t.ag(i, j))
//
// Of a full reduction the block results are computed by the ranks that own them, and gathered before the fold (LAMB's
// norm2(p), which depends on no gather). From then on `t` means the slice; s.reorder(s.gather_of(t), ...) goes on from there.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct Slice {
    NodeId tensor = -1;
    int dim = 0;

    static constexpr const char *name = "slice";
    static constexpr const char *no_moves =
        "no slice; nothing here is replicated, elementwise or a full reduction, and in no Group.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensor("tensor", v.tensor), f.number("dim", v.dim, may_be_left_out); }
    static std::vector<Slice> moves(const Graph &);
};

// Legal: t is replicated and elementwise with dimension dim, or is computed from full reductions of which some are not on
// slices yet (dim 0), in no Group.
Graph apply(const Graph &, const Slice &);
Names instead(const Graph &, const Slice &);

}  // namespace stretto
