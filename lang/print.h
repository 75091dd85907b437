// Text for people: expressions, nodes and programs as the user would write them. Stable between runs: goldens hold it.
#pragma once
#include "lang/graph.h"

namespace stretto {

// p(i) - c1 * m1(i), with the names of the graph.
std::string to_string(const Graph &, const Expr &);
// sum_over(k, x(k) * w(k)), of a node that reduces over indices
std::string reduction_text(const Graph &, const Node &);
// What a node is: an all-reduce, elementwise, ...
std::string kind_text(const Node &);
// avg(i) = gsum(i) / ranks()
std::string definition_text(const Graph &, const Node &);
// The same, with what it is: avg(i) = gsum(i) / ranks()        replicated float32[n]
std::string to_string(const Graph &, const Node &);
// Arguments, nodes, results.
std::string to_string(const Graph &);

}  // namespace stretto
