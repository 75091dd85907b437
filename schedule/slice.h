// slice(t, dim): what every rank computes in full is computed on slices and gathered.
//
//     t(i, j) = f(q(i, j))        =>       t(i, j) = slice_of(f(q(i, j)), dim)      sliced(dim)
//     y(i, j) = g(t(i, j))                 t.ag = all_gather(t)                     replicated
//                                          y(i, j) = g(t.ag(i, j))
//
// Of a full reduction the block results are computed by the ranks that own them, and gathered before the fold (LAMB's
// norm2(p), which depends on no gather). From then on `t` means the slice; s.reorder(s.gather_of(t), ...) goes on from there.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

struct Slice {
    NodeId tensor;
    int dim = 0;
};

// Legal: t is replicated and elementwise with dimension dim, or a full reduction (dim 0), in no Group. Throws Error.
Graph apply(const Graph &, const Slice &);
bool is_legal(const Graph &, const Slice &);
std::string to_string(const Graph &before, const Slice &, const Naming & = name_of);

}  // namespace stretto
