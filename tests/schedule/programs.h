// The programs that the tests of schedules share, with their tensors as members.
#pragma once
#include "lang/program.h"

namespace stretto::test {

// Sum a gradient over ranks, update a parameter and two states from it.
struct Adam {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, avg{"avg"}, m1{"m1"}, v1{"v1"}, p1{"p1"};
    Program program = define();

    Program define() {
        v.range(0, 1);
        gsum = all_reduce(g);
        avg(i) = gsum(i) / ranks();
        m1(i) = 0.9f * m(i) + 0.1f * avg(i);
        v1(i) = 0.99f * v(i) + 0.01f * avg(i) * avg(i);
        p1(i) = p(i) - lr * m1(i) / (sqrt(v1(i)) + 1e-8f);
        update(p, p1);
        update(m, m1);
        update(v, v1);
        return Program("adam", {g, p, m, v, lr});
    }
};

// Scaled gradients of 16 bits, and two norms: one of what depends on the gradient, one of the parameter alone.
struct Lamb {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f16, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}};
    Input<float> lr{"lr"};
    Tensor wide{"wide"}, gsum{"gsum"}, m1{"m1"}, u{"u"}, un{"un"}, pn{"pn"}, ratio{"ratio"}, p1{"p1"};
    Program program = define();

    Program define() {
        wide(i) = cast<float>(g(i)) * 0.5f;
        gsum = all_reduce(wide);
        m1(i) = 0.9f * m(i) + 0.1f * gsum(i);
        u(i) = m1(i) + 0.01f * p(i);
        un() = norm2(i, u(i));
        pn() = norm2(i, p(i));
        ratio() = select(un() > 0.0f && pn() > 0.0f, pn() / un(), 1.0f);
        p1(i) = p(i) - lr * ratio() * u(i);
        update(p, p1);
        update(m, m1);
        return Program("lamb", {g, p, m, lr});
    }
};

// A layer whose contraction is over a sliced index, with bias, dropout and residual.
struct RowParallel {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}, sliced(1)}, w{"w", f32, {K, H}, sliced(0)}, bias{"bias", f32, {H}}, r{"r", f32, {B, H}};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> out{"out", f32, {B, H}};
    Tensor y{"y"}, total{"total"};
    Program program = define();

    Program define() {
        y(b, h) = sum_over(k, x(b, k) * w(k, h));
        total = all_reduce(y);
        out(b, h) = dropout(total(b, h) + bias(h), 0.1f, seed) + r(b, h);
        return Program("row_parallel", {x, w, bias, r, seed, out});
    }
};

// One of everything else: a program's own gather and broadcast, a contraction, a read at another element, 0-d values, an
// all-reduce without a dimension, a maximum.
struct Mixed {
    Size n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> g{"g", f32, {n, 4}, partial(Sum)}, z{"z", f32, {n, 4}, sliced(0)}, q{"q", f32, {n, 4}}, a{"a", f32, {4, 4}},
        c{"c", f32, {4}, local}, s{"s", f32, {}, partial(Sum)}, top{"top", f32, {4}, partial(Max)};
    Output<Tensor> out{"out", f32, {n, 4}}, total{"total", f32, {}}, columns{"columns", f32, {4}}, most{"most", f32, {4}};
    InOut<Tensor> state{"state", f32, {n, 4}};
    Tensor t{"t"}, whole{"whole"}, chosen{"chosen"}, mixed{"mixed"}, turned{"turned"}, st{"st"}, sum{"sum"}, scale{"scale"};
    Program program = define();

    Program define() {
        t = all_reduce(g);
        whole = all_gather(z);
        chosen = broadcast(c, 0);
        sum = all_reduce(s);
        scale() = sum() * 0.5f;
        mixed(i, j) = t(i, j) * q(i, j) + whole(i, j) * chosen(j);
        turned(i, j) = sum_over(k, mixed(i, k) * a(k, j));
        columns(j) = sum_over(i, mixed(i, j));
        st(i, j) = state(i, j) * scale() + turned(i, j);
        out(i, j) = st(i, j) - q(i, clamp(j + 1, 0, 3)) + mixed(i, 0);
        total() = sum_over({i, j}, out(i, j)) + scale();
        most = all_reduce(top);
        update(state, st);
        return Program("mixed", {g, z, q, a, c, s, top, out, total, columns, most, state});
    }
};

// Two all-reduces, the second of what depends on the first; a swap of states; an output beside its update.
struct Chain {
    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, h{"h", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, q{"q", f32, {n}};
    Output<Tensor> norm{"norm", f32, {}}, seen{"seen", f32, {n}};
    Tensor gs{"gs"}, mixed{"mixed"}, hs{"hs"}, p1{"p1"}, q1{"q1"}, first{"first"};
    Program program = define();

    Program define() {
        gs = all_reduce(g);
        mixed(i) = h(i) * gs(i);
        hs = all_reduce(mixed);
        norm() = norm2(i, hs(i));
        p1(i) = q(i) + hs(i) * 0.25f;
        q1(i) = p(i) - gs(i) / (norm() + 1.0f);
        first(i) = p(Expr(0)) + gs(i);
        seen(i) = first(i) * 2.0f - q1(i);
        update(p, p1);
        update(q, q1);
        return Program("chain", {g, h, p, q, norm, seen});
    }
};

}  // namespace stretto::test
