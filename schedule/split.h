// split(t, dim): an all-reduce becomes a reduce-scatter and an all-gather.
//
//     t = all_reduce(x)                    t.rs = reduce_scatter(x, dim)     sliced(dim)
//     y(i) = f(t(i))              =>       t.ag = all_gather(t.rs)           replicated
//                                          y(i) = f(t.ag(i))
//
// The sum is rounded to the type of t in t.rs, as it was in t. From then on `t` means t.ag.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct Split {
    NodeId tensor = -1;
    int dim = 0;

    static constexpr const char *name = "split";
    static constexpr const char *no_moves =
        "no split; no all-reduce here has a dimension, no Group and no collective of its own.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensor("tensor", v.tensor), f.number("dim", v.dim, may_be_left_out); }
    static std::vector<Split> moves(const Graph &);
};

// Legal: t is an all-reduce with dimension dim, in no Group, without a collective of its own.
Graph apply(const Graph &, const Split &);

}  // namespace stretto
