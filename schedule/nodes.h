// What the verbs ask of a graph and do to it, beyond lang/graph.h.
#pragma once
#include <set>
#include "lang/graph.h"

namespace stretto {

using NodeSet = std::set<NodeId>;
using NodeIds = std::vector<NodeId>;

// How a node is written: its name in text, an expression in C++. Each verb prints itself through one.
using Naming = std::function<std::string(const Node &)>;
std::string name_of(const Node &);

// ---- the parts of a definition
// The block results of a full reduction, the all-gather of those, and a reduction inside of an expression have no name of
// the user's: they come with the node that uses them, and nobody writes them.
bool is_part(const Graph &, const Node &);
// The parts of node `id`, operands first.
NodeIds parts_of(const Graph &, NodeId id);
NodeSet with_parts(const Graph &, const NodeIds &);
// In the order of the graph, without parts whose owner is in the set.
NodeIds without_parts(const Graph &, const NodeSet &);

// ---- for messages
std::string left_side(const Graph &, const Node &);                              // p1(i)
std::string access_text(const Graph &, const Halide::Internal::Call *);          // gsum(i) for the result of gsum.ag
std::string kind_of(const Node &);                                               // an all-reduce
std::string names_of(const Graph &, const NodeIds &, const Naming & = name_of);  // avg, m1, v1
NodeIds nodes_where(const Graph &, const std::function<bool(const Node &)> &);

// ---- structure
// The nodes on paths of reads from `user` back to `source`, both left out, in the order of the graph.
NodeIds between(const Graph &, NodeId user, NodeId source);
bool depends_on(const Graph &, NodeId user, NodeId source);
// The indices with which node n reads x, once for each read.
std::vector<std::vector<Expr>> reads_of(const Node &n, NodeId x);
bool are_indices(const std::vector<Expr> &, const Names &);

// ---- rewriting
// Reads of `from` become from's own value, in the nodes for which `who` holds.
void inline_reads(Graph &, const Node &from, const std::function<bool(const Node &)> &who);
// Adds x.ag = all_gather(x), inferred, and gives it to every result and to the readers for which `who` holds.
NodeId add_gather(Graph &, NodeId x, int dim, const std::function<bool(const Node &)> &who);
// Refuses a node that is in a Group already: verbs that change it come before fuse.
void refuse_if_grouped(const Graph &, const Node &, const std::string &verb);
// What every verb ends with: dead nodes go, layouts are inferred, results and Groups are checked again.
Graph settle(Graph);

}  // namespace stretto
