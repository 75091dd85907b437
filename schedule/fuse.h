// fuse({t...}): the nodes become a Group: one sweep over memory, or several where a full reduction is inside.
//
//     t.rs = reduce_scatter(x, 0)      rs: loads at the front         for i in slice:
//     p1(i) = f(t.rs(i), p(i))    =>   p1: computed between      =>       s = sum over ranks k of x[k](i)
//     p1.ag = all_gather(p1)           ag: stores at the end              for all ranks k: p[k](i) = f(s, p(i))
//
// The graph keeps its nodes; they carry the number of their Group. Lowering double-buffers what a sweep would overwrite
// while another rank may read it: such a set is one sweep all the same.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct Fuse {
    NodeIds set;

    static constexpr const char *name = "fuse";
    static constexpr const char *no_moves = "no fuse; nothing here that is in no Group can share a sweep.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensors("tensors", v.set); }
    // The sets of several that fuse_all would make Groups of.
    static std::vector<Fuse> moves(const Graph &);
};

// Legal: the set and the parts of its full reductions are one Group, as schedule/sweep.h says, and in none yet.
Graph apply(const Graph &, const Fuse &);
Names instead(const Graph &, const Fuse &);

}  // namespace stretto
