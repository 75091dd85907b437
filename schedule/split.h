// split(t, dim): an all-reduce becomes a reduce-scatter and an all-gather.
//
//     t = all_reduce(x)                    t.rs = reduce_scatter(x, dim)     sliced(dim)
//     y(i) = f(t(i))              =>       t.ag = all_gather(t.rs)           replicated
//                                          y(i) = f(t.ag(i))
//
// The sum is rounded to the type of t in t.rs, as it was in t. From then on `t` means t.ag.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

struct Split {
    NodeId tensor;
    int dim = 0;
};

// Legal: t is an all-reduce with dimension dim, in no Group, without a collective of its own. Throws Error.
Graph apply(const Graph &, const Split &);
bool is_legal(const Graph &, const Split &);
// As code, of all tensors or of one.
std::vector<std::string> legal_splits(const Graph &, NodeId only = -1);
std::string to_string(const Graph &before, const Split &, const Naming & = name_of);

}  // namespace stretto
