// What the verbs ask of a graph and do to it, beyond lang/graph.h.
#pragma once
#include <set>
#include "lang/print.h"

namespace stretto {

using NodeSet = std::set<NodeId>;
using NodeIds = std::vector<NodeId>;

// ---- who reads whom
// Looked up once, for a graph that does not change meanwhile. By id; of a node that is not there empty.
struct Links {
    explicit Links(const Graph &);
    std::vector<NodeIds> reads, readers;  // in the order of the graph, each once
    std::vector<char> is_result;
};
// The nodes that depend on one of these, and those that one of these depends on.
NodeSet dependents(const Graph &, const NodeSet &);
NodeSet dependencies(const Graph &, const NodeSet &);

// What a node runs over: the elements of its value; of block results the elements that they reduce.
std::vector<Index> loops_of(const Node &);
// Equal for nodes that can share a loop: extents, and the axes that slice each.
using LoopKey = std::vector<std::tuple<int, int64_t, Axes>>;
LoopKey loop_key(const Node &);
// An access of a node's value: of the element at the node's own loops?
struct Read {
    NodeId node;
    bool same_element;
};
std::vector<Read> reads_of(const Graph &, const Node &);
// The indices with which node n reads x, once for each read.
std::vector<std::vector<Expr>> reads_of(const Node &n, NodeId x);

// ---- the parts of a definition
// The block results of a full reduction, the all-gather of those, and a reduction inside of an expression have no name of
// the user's: they come with the node that uses them, and nobody writes them.
bool is_part(const Graph &, const Node &);
bool exchanges_blocks(const Graph &, const Node &);
// The parts of node `id`, operands first.
NodeIds parts_of(const Graph &, NodeId id);
NodeSet with_parts(const Graph &, const NodeIds &);
// In the order of the graph, without parts whose owner is in the set.
NodeIds without_parts(const Graph &, const NodeSet &);

// ---- for messages
std::string left_side(const Node &);  // p1(i)
std::string element_text(const Graph &, const std::string &name, const std::vector<Expr> &indices);
std::string access_text(const Graph &, const Halide::Internal::Call *);  // gsum(i) for the result of gsum.ag
std::string names_of(const Graph &, const NodeIds &);                    // avg, m1, v1
NodeIds nodes_where(const Graph &, const std::function<bool(const Node &)> &);

// ---- rewriting
// Reads of `from` in n become from's own value.
void inline_read(Node &n, const Node &from);
// Adds of.ag = all_gather(x), inferred. It takes the place of `of` (x itself, or what x is a slice of) in results and in these
// readers.
NodeId add_gather(Graph &, NodeId of, NodeId x, const NodeIds &readers);
// Refuses a node that is in a Group already: verbs that change it come before fuse; "": by fuse.
void refuse_if_grouped(const Graph &, const Node &, const std::string &verb);
// Refuses a set that is empty, or holds a node twice.
void check_set(const Graph &, const NodeIds &);
// Refuses a dimension that n does not have.
void check_dimension(const Node &n, int dim);
// What every verb ends with: dead nodes go, layouts are inferred, results, Groups and lanes are checked again.
Graph settle(Graph);

}  // namespace stretto
