// Which nodes are computed together: what lowering makes of a graph, and what `fuse` therefore counts.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

// The addends of a reduction over ranks are computed where they are added up, from what other ranks have in memory; so each
// must come from one tensor of theirs. What is the same on all ranks every rank reads from its own memory. An addend that
// is narrower before it is computed, as under a widening cast, travels so; anything else is stored first.
//   h = cast<float>(g); s = all_reduce(h)      ->   s = all_reduce(cast<float>(g(i)))
//   s = all_reduce(a(i) + b(i))                ->   s.addend(i) = a(i) + b(i); s = all_reduce(s.addend)
// A shift in one Group with its operand is the end of that sweep: each rank stores to the one that the element goes to, what is
// computed without an index (a fill, whether it is needed) as on that rank.
Graph settle_transfers(Graph);

// A stage is one loop, a contraction or the fold of block results. Elementwise nodes of one loop share a stage where no
// communication lies between them, and so do the nodes of a Group; block results are summed up in a sweep over the elements
// that they reduce, where there is one. What a Group reads from outside comes before all of its stages.
struct Partition {
    std::vector<NodeIds> stages;  // in the order of computation, and so are the nodes of each
    std::map<NodeId, int> stage_of;
};
// Of a graph that is settled and whose Groups are legal.
Partition partition(const Graph &);

}  // namespace stretto
