#include "programs.h"

namespace stretto::test {

namespace {

ScheduledProgram sgd() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, p1{"p1"};
    gsum = all_reduce(g);
    p1(i) = p(i) - lr * gsum(i) / ranks();
    update(p, p1);
    ScheduledProgram s(Program{"sgd", {g, p, lr}});
    s.add("one_shot", [&](Schedule &x) { x.collective(gsum, Algorithm::OneShot); });
    s.add("two_phase", [&](Schedule &x) { x.collective(gsum, Algorithm::TwoPhase); });
    s.add("fused_one_shot", [&](Schedule &x) { x.fuse({gsum, p1}); });
    s.add("split", [&](Schedule &x) { x.split(gsum); });
    s.add("on_slices", [&](Schedule &x) { x.reorder(x.split(gsum).ag, {p1}); });
    s.add("fused", [&](Schedule &x) {
        x.reorder(x.split(gsum).ag, {p1});
        x.fuse_all();
    });
    s.add("narrow_vectors", [&](Schedule &x) {
        x.reorder(x.split(gsum).ag, {p1});
        x.fuse_all();
        x.vectorize(p1, 4);
    });
    return s;
}

ScheduledProgram adam(const std::string &name, const Type &grad) {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", grad, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}};
    Input<double> lr{"lr"}, beta1{"beta1"}, beta2{"beta2"}, eps{"eps"};
    Input<int64_t> step{"step"};
    v.range(0, 1);
    beta1.range(0.8, 0.95), beta2.range(0.9, 0.999), eps.range(1e-9, 1e-7), step.range(1, 100);
    Tensor gsum{"gsum"}, avg{"avg"}, m1{"m1"}, v1{"v1"}, p1{"p1"};
    Expr b1 = cast<float>(beta1), a1 = cast<float>(1 - beta1), b2 = cast<float>(beta2),
         a2 = cast<float>(1 - beta2);
    Expr c1 = cast<float>(lr / (1 - pow(beta1, step))), c2 = cast<float>(1 / sqrt(1 - pow(beta2, step)));
    gsum = all_reduce(cast<float>(g));
    avg(i) = gsum(i) / ranks();
    m1(i) = b1 * m(i) + a1 * avg(i);
    v1(i) = b2 * v(i) + a2 * avg(i) * avg(i);
    p1(i) = p(i) - c1 * m1(i) / (sqrt(v1(i)) * c2 + cast<float>(eps));
    update(p, p1);
    update(m, m1);
    update(v, v1);
    ScheduledProgram s(Program{name, {g, p, m, v, lr, beta1, beta2, eps, step}});
    auto on_slices = [&](Schedule &x) {
        x.reorder(x.split(gsum).ag, {avg, m1, v1, p1});
        x.as_slice(m);
        x.as_slice(v);
    };
    s.add("on_slices", on_slices);
    s.add("fused", [&](Schedule &x) {
        on_slices(x);
        x.fuse_all();
    });
    s.add("state_whole", [&](Schedule &x) {
        x.reorder(x.split(gsum).ag, {avg, m1, v1, p1});
        x.fuse_all();
    });
    return s;
}

// The step is scaled by the ratio of two norms, as in LAMB; where either norm is 0 the ratio is 1.
ScheduledProgram trust_ratio() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, u{"u"}, un{"un"}, pn{"pn"}, ratio{"ratio"}, p1{"p1"};
    gsum = all_reduce(g);
    u(i) = gsum(i) * 0.5f + p(i) * 0.01f;
    un() = norm2(i, u(i));
    pn() = norm2(i, p(i));
    ratio() = select(un() > 0.0f && pn() > 0.0f, pn() / un(), 1.0f);
    p1(i) = p(i) - lr * ratio() * u(i);
    update(p, p1);
    ScheduledProgram s(Program{"trust_ratio", {g, p, lr}});
    s.add("on_slices", [&](Schedule &x) {
        auto ag = x.split(gsum).ag;
        x.reorder(ag, {u, un, p1});
    });
    s.add("norm_on_slices", [&](Schedule &x) {
        x.slice(pn);
        auto ag = x.split(gsum).ag;
        x.reorder(ag, {u, un, p1});
        x.fuse_all();
    });
    return s;
}

// A row-parallel layer: a contraction over a sliced index leaves a pending sum.
ScheduledProgram row_parallel(const std::string &name, const Type &type) {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", type, {B, K}, sliced(1)}, w{"w", type, {K, H}, sliced(0)}, bias{"bias", type, {H}},
        r{"r", type, {B, H}};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> out{"out", type, {B, H}};
    Tensor y{"y"}, total{"total"};
    y(b, h) = sum_over(k, x(b, k) * w(k, h));
    total = all_reduce(y);
    out(b, h) = dropout(total(b, h) + bias(h), 0.1f, seed) + r(b, h);
    ScheduledProgram s(Program{name, {x, w, bias, r, seed, out}});
    s.add("rows", [&](Schedule &c) {
        c.reorder(c.split(total, 0).ag, {out});
        c.fuse_all();
    });
    s.add("columns", [&](Schedule &c) {
        c.reorder(c.split(total, 1).ag, {out});
        c.fuse_all();
    });
    s.add("one_sweep", [&](Schedule &c) { c.fuse({total, out}); });
    return s;
}

// Backward pass of a layer over a sliced batch: weight gradients are partial by inference.
ScheduledProgram layer_gradients() {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}, sliced(0)}, dy{"dy", f32, {B, H}, sliced(0)}, w{"w", f32, {K, H}};
    Output<Tensor> dw{"dw", f32, {K, H}, partial(Sum)}, dx{"dx", f32, {B, K}, sliced(0)}, db{"db", f32, {H}};
    Tensor bias_gradient{"bias_gradient"};
    dw(k, h) = sum_over(b, x(b, k) * dy(b, h));
    dx(b, k) = sum_over(h, dy(b, h) * w(k, h));
    bias_gradient(h) = sum_over(b, dy(b, h));
    db = all_reduce(bias_gradient);
    return ScheduledProgram(Program{"layer_gradients", {x, dy, w, dw, dx, db}});
}

// Rows of a sliced matrix through softmax.
ScheduledProgram softmax() {
    Size B{"B"}, H{"H"};
    Var b{"b"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, H}, sliced(0)};
    Output<Tensor> y{"y", f32, {B, H}, sliced(0)}, whole{"whole", f32, {B, H}};
    Tensor top{"top"}, e{"e"}, sum{"sum"};
    top(b) = max_over(h, x(b, h));
    e(b, h) = exp(x(b, h) - top(b));
    sum(b) = sum_over(h, e(b, h));
    y(b, h) = e(b, h) / sum(b);
    whole = all_gather(y);
    ScheduledProgram s(Program{"softmax", {x, y, whole}});
    s.add("fused_gather", [&](Schedule &c) { c.fuse_all(); });
    return s;
}

// Values at entry: everything reads p and q as they were, whatever is stored where.
ScheduledProgram exchange() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, q{"q", f32, {n}};
    Output<Tensor> o{"o", f32, {n}}, total{"total", f32, {}};
    Tensor s1{"s1"}, p1{"p1"}, q1{"q1"}, sum{"sum"};
    s1 = all_reduce(g);
    p1(i) = q(i) + s1(i);
    q1(i) = p(i) - s1(i);
    sum() = sum_over(i, p(i) * q(i));
    total() = sum() + 1.0f;
    o(i) = p1(i) * sum();
    update(p, p1);
    update(q, q1);
    ScheduledProgram s(Program{"exchange", {g, p, q, o, total}});
    s.add("on_slices", [&](Schedule &c) {
        auto ag = c.split(s1).ag;
        c.reorder(ag, {p1, q1, o});
        c.fuse_all();
    });
    return s;
}

// A neighbour's element is read: p cannot be updated in place while it is pushed to the others.
ScheduledProgram neighbour() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Tensor gsum{"gsum"}, p1{"p1"};
    gsum = all_reduce(g);
    p1(i) = p(max(i - 1, 0)) + gsum(i);
    update(p, p1);
    ScheduledProgram s(Program{"neighbour", {g, p}});
    s.add("on_slices", [&](Schedule &c) { c.reorder(c.split(gsum).ag, {p1}); });
    return s;
}

// Local values, a broadcast, and a maximum over ranks with NaN-safe rules; integers.
ScheduledProgram extremes() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> a{"a", f32, {n}, partial(ReduceOp::Max)}, b{"b", f32, {n}, local},
        k{"k", i32, {n}, partial(ReduceOp::Min)};
    Output<Tensor> top{"top", f32, {n}}, first{"first", f32, {n}}, low{"low", i32, {n}},
        mine{"mine", f32, {n}, local}, next{"next", f32, {n}, local};
    Tensor am{"am"}, bb{"bb"}, km{"km"}, left{"left"}, right{"right"}, edge{"edge"};
    Input<float> c{"c"};
    am = all_reduce(a);
    bb = broadcast(b, 0);
    km = all_reduce(k);
    top(i) = max(am(i), bb(i));
    first(i) = bb(i) * 2.0f;
    low(i) = km(i) / 3 + km(i) % 7;
    mine(i) = b(i) + am(i);
    left = shift(b, 1), right = shift(mine, -2, keep), edge = shift(b, -1, fill(c * 2.0f));
    next(i) = left(i) - right(i) * edge(i);
    ScheduledProgram s(Program{"extremes", {a, b, k, c, top, first, low, mine, next}});
    s.add("fused", [&](Schedule &x) { x.fuse({left, edge, next}); });
    s.add("split", [&](Schedule &c) {
        c.split(am);
        c.split(km);
        c.fuse_all();
    });
    return s;
}

// Values that go to other ranks at the end of the sweep that computes them, one of them to where this rank reads.
ScheduledProgram passed_on() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, b{"b", f16, {n}, local};
    Output<Tensor> all{"all", f32, {n}, local};
    InOut<Tensor> m{"m", f32, {n}, local};
    Tensor gsum{"gsum"}, h{"h"}, around{"around"}, kept{"kept"}, filled{"filled"}, half{"half"}, halves{"halves"}, m1{"m1"},
        next{"next"};
    Input<float> c{"c"};
    gsum = all_reduce(g);
    h(i) = gsum(i) + cast<float>(b(i)) * c;
    around = shift(h, -1), kept = shift(h, 2, keep), filled = shift(h, 1, fill(c * cast<float>(rank() + 2)));
    half(i) = b(i) * cast(f16, c) + b(0);
    halves = shift(half, -3, fill(c + 1.0f));
    all(i) = around(i) + 2.0f * kept(i) - filled(i) * cast<float>(halves(i));
    m1(i) = m(i) * 0.5f + around(i);
    next = shift(m1, 1, keep);
    update(m, next);
    ScheduledProgram s(Program{"passed_on", {g, b, c, m, all}});
    s.add("ends", [&](Schedule &x) {
        x.fuse({gsum, h, around, kept, filled});
        x.fuse({half, halves});
    });
    s.add("in_place", [&](Schedule &x) { x.fuse({m1, next}); });
    s.add("fused", [&](Schedule &x) { x.fuse_all(); });
    return s;
}

// Slices on another dimension than the first, wider accumulators, a product over ranks.
ScheduledProgram slices() {
    Size B{"B"}, H{"H"};
    Var b{"b"}, h{"h"};
    Input<Tensor> x{"x", bf16, {B, H}, partial(Sum)}, y{"y", f64, {B, H}, partial(Prod)}, r{"r", f32, {B, H}};
    Output<Tensor> s{"s", f32, {B, H}, sliced(1)}, t{"t", f64, {B, H}}, u{"u", f32, {B, H}, sliced(1)};
    Tensor xs{"xs"}, rs{"rs"};
    xs = reduce_scatter(x, 1, f32);
    t = all_reduce(y);
    rs = slice_of(r, 1);
    s(b, h) = xs(b, h) + r(b, h);
    u(b, h) = erf(rs(b, h)) * xs(b, h);
    ScheduledProgram p(Program{"slices", {x, y, r, s, t, u}});
    p.add("split_rows", [&](Schedule &c) {
        c.split(t, 0);
        c.fuse_all();
    });
    p.add("split_columns", [&](Schedule &c) { c.split(t, 1); });
    return p;
}

// Random numbers depend on the global index only.
ScheduledProgram noise() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f16, {n}, partial(Sum)};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> o{"o", f16, {n}};
    Tensor d{"d"}, sum{"sum"};
    d(i) = dropout(g(i), 0.25f, seed);
    sum = all_reduce(d);
    o(i) = sum(i) + cast(f16, random(seed, 7)) + pow(abs(sum(i)), cast(f16, 1.5f)) * cast(f16, 0.125f);
    ScheduledProgram s(Program{"noise", {g, seed, o}});
    s.add("fused", [&](Schedule &c) {
        c.reorder(c.split(sum).ag, {o});
        c.fuse_all();
    });
    return s;
}

}  // namespace

const std::vector<std::pair<std::string, std::function<ScheduledProgram()>>> &all_programs() {
    static const std::vector<std::pair<std::string, std::function<ScheduledProgram()>>> programs = {
        {"sgd", sgd},
        {"adam", [] { return adam("adam", f32); }},
        {"adam_half", [] { return adam("adam_half", f16); }},
        {"adam_bfloat", [] { return adam("adam_bfloat", bf16); }},
        {"trust_ratio", trust_ratio},
        {"row_parallel", [] { return row_parallel("row_parallel", f32); }},
        {"row_parallel_half", [] { return row_parallel("row_parallel_half", f16); }},
        {"layer_gradients", layer_gradients},
        {"softmax", softmax},
        {"exchange", exchange},
        {"neighbour", neighbour},
        {"extremes", extremes},
        {"passed_on", passed_on},
        {"slices", slices},
        {"noise", noise},
    };
    return programs;
}

}  // namespace stretto::test
