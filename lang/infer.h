// Layout inference (the table of the language reference), of nodes: extents, layout and slices, given those of the nodes that
// the value reads, or an error as in expression_layout.h.
#pragma once
#include "lang/graph.h"

namespace stretto {

constexpr size_t most_indices = 8;  // of a tensor, with those that its definition reduces over: max_dimensions of a plan

// Sets domain, layout (and the op of a communication) of one node from its operands. Throws Error.
void infer_node(Graph &, NodeId);
// All nodes in order.
void infer(Graph &);

// Results against their arguments: equal types, extents and layouts, or a replicated value for a local argument. Throws Error.
void check_results(const Graph &);

}  // namespace stretto
