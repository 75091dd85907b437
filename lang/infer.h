// Layout inference (the table of the language reference): which layout a node has, given its operands', or an error that
// names the operand, its layout and the communication that would make it legal.
#pragma once
#include "lang/graph.h"

namespace stretto {

// Sets dims, rdims, layout (and the op of a communication) of one node from its operands. Throws Error.
void infer_node(Graph &, NodeId);
// All nodes in order.
void infer(Graph &);

}  // namespace stretto
