// One operand of every layout, and what a definition over them becomes.
#pragma once
#include "refusals.h"

namespace stretto::test {

struct Operands {
    Size n{"n"}, m{"m"};
    Var i{"i"}, j{"j"}, k{"k"};
    // Vectors: replicated, sliced, local, partial. Matrices in capitals.
    Input<Tensor> r{"r", f32, {n}}, r2{"r2", f32, {n}}, s{"s", f32, {n}, sliced(0)}, s2{"s2", f32, {n}, sliced(0)};
    Input<Tensor> other{"other", f32, {m}, sliced(0)}, l{"l", f32, {n}, local};
    Input<Tensor> a{"a", f32, {n}, partial(Sum)}, b{"b", f32, {n}, partial(Sum)};
    Input<Tensor> hi{"hi", f32, {n}, partial(Max)}, hi2{"hi2", f32, {n}, partial(Max)}, lo{"lo", f32, {n}, partial(Min)};
    Input<Tensor> pr{"pr", f32, {n}, partial(Prod)}, pr2{"pr2", f32, {n}, partial(Prod)};
    Input<Tensor> ia{"ia", i32, {n}, partial(Sum)}, ir{"ir", i32, {n}}, il{"il", i32, {n}, local};
    Input<Tensor> is{"is", i32, {n}, sliced(0)};
    Input<Tensor> R{"R", f32, {m, n}}, L{"L", f32, {m, n}, local}, S0{"S0", f32, {m, n}, sliced(0)};
    Input<Tensor> S1{"S1", f32, {m, n}, sliced(1)}, A{"A", f32, {m, n}, partial(Sum)}, H{"H", f32, {m, n}, partial(Max)};
    Input<float> c{"c"};
    Input<uint64_t> seed{"seed"};

    Program program(Output<Tensor> &out) const {
        std::vector<ArgumentRef> all{r, r2, s, s2, other, l, a, b, hi, hi2, lo, pr, pr2, ia, ir, il, is};
        for (const ArgumentRef &x : std::vector<ArgumentRef>{R, L, S0, S1, A, H}) all.push_back(x);
        for (const ArgumentRef &x : std::vector<ArgumentRef>{c, seed, out}) all.push_back(x);
        return Program{"p", all};
    }
};

// t(i) = value, where value is made of the operands.
using Value = std::function<Expr(Operands &)>;
// t(...) = ... in full.
using Define = std::function<void(Operands &, Output<Tensor> &)>;
using Extents = std::function<std::vector<Extent>(Operands &)>;

inline std::vector<Extent> vector_extents(Operands &o) {
    return {o.n};
}

// The layout that inference gives: the output must be declared with it, or the program is refused.
inline Layout layout_of(const Type &type, const Layout &expected, const Extents &extents, const Define &define) {
    Operands o;
    Output<Tensor> t{"t", type, extents(o), expected};
    define(o, t);
    Program p = o.program(t);
    return p.graph().at(p.graph().results.at(0).node).layout;
}

}  // namespace stretto::test
