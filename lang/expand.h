// From what the user wrote to what machines compute: one definition of every function, no arithmetic in 16-bit floats, plan
// scalars taken out. Every back end and the reference get the result, so all of them agree.
#pragma once
#include "lang/graph.h"

namespace stretto {

// op(a, b) with the language's rules: Max and Min of floats are NaN if an operand is, and -0 < +0 (Halide's own max drops a
// NaN on one side); integers wrap.
Expr combine(ReduceOp op, const Expr &a, const Expr &b);

// Every mathematical function by its definition (functions.h), % of floats, max and min too: strict operations, no call.
//   tanh(x) + max(x, y)   ->   (let ... in with_sign(e / (e + 2), x)) + select(x == y, ..., x > y || x != x, x, y)
Expr expand_functions(const Expr &);

// 16-bit floats are storage: operands are widened, results rounded once, where a node or a cast says so.
//   h(i) * h(i) + 1   ->   cast<float16_t>(cast<float>(h(i)) * cast<float>(h(i)) + 1.0f)
Expr widen_float16(const Expr &);

// A cast to t, to a 16-bit float by way of f32.
Expr round_to(const Type &t, const Expr &);

// random(seed, stream, indices...)   ->   Philox4x32-10 keyed by seed, counter = (linear index, stream), word 0 / 2^32, in
// the expression of node n. Without indices: those of the left side, which a reduction does not have. Throws an Error.
Expr expand_random(const Graph &, const Expr &, const Node &n);

// The placeholder: a uniform float in [0, 1). stream -1: the default, which with_stream replaces when the program is built.
Expr random_placeholder(const Expr &seed, int stream, const std::vector<Expr> &indices);
bool is_random(const Halide::Internal::Call *);
bool is_random_without_stream(const Halide::Internal::Call *);
Expr with_stream(const Halide::Internal::Call *, int stream);
// The stream that the user gave a call of random, -1 if the call is none, or has none of the user's.
int random_stream(const Halide::Internal::Call *);

// Adds the maximal parts of e that have no index and are no constants to g.scalars (each once), and puts plan_scalar(k) there.
//   cast<float>(1 - beta1) * m(i)   ->   plan.0 * m(i)
Expr take_out_scalars(Graph &g, const Expr &e);

}  // namespace stretto
