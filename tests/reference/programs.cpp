// Five programs against values computed by hand in float64: the language means what its words say.
#include "program_check.h"

using namespace stretto;
using namespace stretto::test;

namespace {

using Position = std::vector<int64_t>;

template <class F>
void for_all(F f) {
    for (int ranks : rank_counts)
        for (int64_t n : interesting_sizes(ranks)) f(ranks, n);
}

}  // namespace

TEST_CASE("stochastic gradient descent") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, p1{"p1"};
    gsum = all_reduce(g);
    p1(i) = p(i) - lr * gsum(i) / ranks();
    update(p, p1);
    Program sgd{"sgd", {g, p, lr}};
    for_all([&](int ranks, int64_t n) {
        Values v(sgd, ranks, {{"n", n}});
        v.run();
        v.expect("p", 1e-6, [&](const Position &i) {
            return v.before("p", i) - v.scalar("lr") * v.sum_before("g", i) / ranks;
        });
    });
}

TEST_CASE("Adam, with gradients of every float type") {
    for (Type type : {f32, f16, bf16}) {
        Size n{"n"};
        Var i{"i"};
        Input<Tensor> g{"g", type, {n}, partial(Sum)};
        InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}};
        v.range(0, 1);
        Input<double> lr{"lr"}, beta1{"beta1"}, beta2{"beta2"}, eps{"eps"};
        Input<int64_t> step{"step"};
        Tensor wide{"wide"}, gsum{"gsum"}, avg{"avg"}, m1{"m1"}, v1{"v1"}, p1{"p1"};
        Expr b1 = cast<float>(beta1), a1 = cast<float>(1 - beta1), b2 = cast<float>(beta2),
             a2 = cast<float>(1 - beta2);
        Expr c1 = cast<float>(lr / (1 - pow(beta1, step))),
             c2 = cast<float>(1 / sqrt(1 - pow(beta2, step)));
        gsum = all_reduce(cast<float>(g));
        avg(i) = gsum(i) / ranks();
        m1(i) = b1 * m(i) + a1 * avg(i);
        v1(i) = b2 * v(i) + a2 * avg(i) * avg(i);
        p1(i) = p(i) - c1 * m1(i) / (sqrt(v1(i)) * c2 + cast<float>(eps));
        update(p, p1), update(m, m1), update(v, v1);
        Program adam{"adam", {g, p, m, v, lr, beta1, beta2, eps, step}};
        adam.require(Expr(step) >= 1, "step must be at least 1");
        for_all([&](int ranks, int64_t n) {
            Values x(adam, ranks, {{"n", n}});
            x.in.scalars["lr"] = 1e-3, x.in.scalars["beta1"] = .9, x.in.scalars["beta2"] = .999,
            x.in.scalars["eps"] = 1e-8;
            x.in.scalars["step"] = 3;
            x.run();
            CHECK(x.out.failed_requirement == "");
            auto avg = [&](const Position &i) { return x.sum_before("g", i) / ranks; };
            auto m1 = [&](const Position &i) { return .9 * x.before("m", i) + .1 * avg(i); };
            auto v1 = [&](const Position &i) { return .999 * x.before("v", i) + .001 * avg(i) * avg(i); };
            x.expect("m", 1e-6, m1);
            x.expect("v", 1e-6, v1);
            x.expect("p", 1e-6, [&](const Position &i) {
                double bias1 = 1 - std::pow(.9, 3), bias2 = 1 - std::pow(.999, 3);
                return x.before("p", i) - 1e-3 * (m1(i) / bias1) / (std::sqrt(v1(i) / bias2) + 1e-8);
            });
        });
        Values x(adam, 2, {{"n", 4}});
        x.in.scalars["step"] = 0;
        x.run();
        CHECK(x.out.failed_requirement == "step must be at least 1");
        CHECK(same_bits(x.out.arguments.at("p")[1], x.in.tensors.at("p")[1]));
    }
}

TEST_CASE("a row-parallel matrix product, with bias and residual") {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}, sliced(1)}, w{"w", f32, {K, H}, sliced(0)},
        bias{"bias", f32, {H}}, r{"r", f32, {B, H}};
    Output<Tensor> out{"out", f32, {B, H}};
    Tensor y{"y"}, total{"total"};
    y(b, h) = sum_over(k, x(b, k) * w(k, h));
    total = all_reduce(y);
    out(b, h) = total(b, h) + bias(h) + r(b, h);
    Program row_parallel{"row_parallel", {x, w, bias, r, out}};
    CHECK(row_parallel.graph().find("y")->layout == partial(Sum));
    for_all([&](int ranks, int64_t n) {
        for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 5}, {0, 2}, {1, 1}}) {
            Values v(row_parallel, ranks, {{"B", rows}, {"K", n}, {"H", columns}});
            v.run();
            v.expect(
                "out", 1e-5, [&](const Position &i) {
                    double s = v.before("bias", {i[1]}) + v.before("r", i);
                    for (int64_t k = 0; k < n; k++) s += v.before("x", {i[0], k}) * v.before("w", {k, i[1]});
                    return s;
                },
                1);
        }
    });
}

TEST_CASE("an update clipped by norms, as in LAMB") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}, sliced(0)};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, own{"own"}, m1{"m1"}, whole{"whole"}, wn{"wn"}, un{"un"}, ratio{"ratio"}, p1{"p1"};
    gsum = all_reduce(g);
    m1(i) = 0.9f * m(i) + 0.1f * gsum(i);
    whole = all_gather(m1);
    wn() = norm2(i, p(i));
    un() = norm2(i, whole(i));
    ratio() = select(wn() == 0.0f || un() == 0.0f, 1.0f, wn() / un());
    p1(i) = p(i) - lr * ratio() * whole(i);
    update(p, p1), update(m, m1);
    Program lamb{"lamb", {g, p, m, lr}};
    CHECK(lamb.graph().find("m1")->layout == sliced(0));
    for_all([&](int ranks, int64_t n) {
        for (int zero = 0; zero < 3; zero++) {
            Values v(lamb, ranks, {{"n", n}});
            if (zero == 1) v.set("p", [](int, auto &) { return 0; });
            if (zero == 2)
                v.set("g", [](int, auto &) { return 0; }), v.set("m", [](int, auto &) { return 0; });
            v.run();
            auto m1 = [&](const Position &i) { return 0.9 * v.before("m", i) + 0.1 * v.sum_before("g", i); };
            double wn = 0, un = 0;
            for (int64_t k = 0; k < n; k++)
                wn += std::pow(v.before("p", {k}), 2), un += std::pow(m1({k}), 2);
            double ratio = wn == 0 || un == 0 ? 1 : std::sqrt(wn / un);
            v.expect("m", 1e-6, m1);
            v.expect("p", 1e-5,
                     [&](const Position &i) { return v.before("p", i) - v.scalar("lr") * ratio * m1(i); });
        }
    });
}

TEST_CASE("softmax and layer normalisation of rows that are sliced over ranks") {
    Size B{"B"}, H{"H"};
    Var b{"b"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, H}, sliced(1)}, gain{"gain", f32, {H}};
    x.range(-30, 30);
    Output<Tensor> soft{"soft", f32, {B, H}, sliced(1)}, norm{"norm", f32, {B, H}, sliced(1)};
    Tensor mine{"mine"}, highest{"highest"}, e{"e"}, part{"part"}, total{"total"}, sums{"sums"},
        mean{"mean"}, squares{"squares"}, variance{"variance"};
    mine(b) = max_over(h, x(b, h));
    highest = all_reduce(mine);
    e(b, h) = exp(x(b, h) - highest(b));
    part(b) = sum_over(h, e(b, h));
    total = all_reduce(part);
    soft(b, h) = e(b, h) / total(b);
    sums(b) = sum_over(h, x(b, h));
    mean = all_reduce(sums);
    Expr centred = x(b, h) - mean(b) / cast<float>(H);
    squares(b) = sum_over(h, centred * centred);
    variance = all_reduce(squares);
    norm(b, h) = centred / sqrt(variance(b) / cast<float>(H) + 1e-5f) * gain(h);
    Program rows{"rows", {x, gain, soft, norm}};
    CHECK(rows.graph().find("mine")->layout == partial(ReduceOp::Max));
    for_all([&](int ranks, int64_t n) {
        Values v(rows, ranks, {{"B", 3}, {"H", n}});
        v.run();
        auto row = [&](int64_t b) {
            std::vector<double> r;
            for (int64_t k = 0; k < n; k++) r.push_back(v.before("x", {b, k}));
            return r;
        };
        v.expect("soft", 1e-5, [&](const Position &i) {
            auto r = row(i[0]);
            double s = 0;
            for (double q : r) s += std::exp(q - r[size_t(i[1])]);
            return 1 / s;
        });
        v.expect("norm", 1e-4, [&](const Position &i) {
            auto r = row(i[0]);
            double s = 0, q = 0;
            for (double a : r) s += a / double(n);
            for (double a : r) q += (a - s) * (a - s) / double(n);
            return (r[size_t(i[1])] - s) / std::sqrt(q + 1e-5) * v.before("gain", {i[1]});
        });
    });
}
