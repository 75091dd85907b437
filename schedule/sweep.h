// Groups: sets of nodes that are computed in one sweep, or in several where a full reduction is inside.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

// A sweep is a loop over a slice whose loads and stores may name ranks. So a set of nodes is one sweep if
//   - all of its loops run over the same extents and the same slice of them;
//   - reduce-scatters, all-reduces and broadcasts are loads at its front: of values that are complete before it, or of an
//     addend that is computed as it is loaded;
//   - all-gathers are stores at its end: nothing in the set reads their results;
//   - a value computed in it is read in it at the same element only;
//   - no path of reads leaves the set and comes back.
// An all-reduce in a Group with others is a load of the whole sum, in one phase. A buffer that the sweep overwrites while
// another rank may read it is no reason against a set: lowering double-buffers it.
//
// Values without a dimension take no loop. What depends on the result of a full reduction inside is a sweep of its own, and
// so is an addend that has to be stored: schedule/partition.h says which stages there are.

// Why `set` (parts included) cannot be a Group beside the Groups that the graph has; "" if it can. A reason names nodes and
// reads as code.
std::string why_no_group(const Graph &, const NodeSet &set);

NodeIds group_members(const Graph &, int group);
// Makes a Group of the set.
void make_group(Graph &, const NodeSet &set);

// Throws an Error if a Group of the graph is not legal (any more).
void check_groups(const Graph &);

// Cuts the nodes that `who` names, without arguments and what is in a Group, into legal sets: in the order of the graph each
// joins the set of its latest producer among them that takes it and asks for no other lanes, else opens one.
std::vector<NodeSet> legal_groups(const Graph &, const std::function<bool(const Node &)> &who);

struct Group {
    int id = -1;
    Names stages;    // their names, without parts
    int sweeps = 0;  // the loops over elements that lowering makes of it
};
// In the order in which they were made.
std::vector<Group> groups_of(const Graph &);
// "Group 0, 1 sweep: {gsum.rs, avg, p1, p1.ag}"
std::string to_string(const Group &);

}  // namespace stretto
