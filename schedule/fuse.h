// fuse({t...}): the nodes become a Group: one sweep over memory, or several where a full reduction is inside.
//
//     t.rs = reduce_scatter(x, 0)      rs: loads at the front         for i in slice:
//     p1(i) = f(t.rs(i), p(i))    =>   p1: computed between      =>       s = sum over ranks k of x[k](i)
//     p1.ag = all_gather(p1)           ag: stores at the end              for all ranks k: p[k](i) = f(s, p(i))
//
// The graph keeps its nodes; they carry the number of their Group. Lowering double-buffers what a sweep would overwrite
// while another rank may read it: such a set is one sweep all the same.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

struct Fuse {
    NodeIds set;
};

// Legal: the set and the parts of its full reductions are one Group, as schedule/sweep.h says, and in none yet. Throws Error.
Graph apply(const Graph &, const Fuse &);
std::string to_string(const Graph &before, const Fuse &, const Naming & = name_of);

}  // namespace stretto
