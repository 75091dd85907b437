// Optimizers, compiled: the first step of Adam, AMSGrad's maximum, a step counter for all parameters.
#include "jit.h"

#include <cmath>

using namespace stretto;
using namespace stretto::test;

TEST_CASE("the first Adam step with a gradient of eps: within 2 ulp of the textbook formula in f64, under every schedule") {
    auto generator = make_generator("adam");
    const Program &adam = generator->program("adam");
    for (std::string name : {"default", "on_slices", "fused"}) {
        INFO(name);
        Compiled f = compile(adam, make_schedule(*generator, adam, name));
        run(threads(1), [&](Communicator &c) {
            std::vector<float> g{1e-8f, -1e-8f, 1.f, 3e-9f}, p(4), m(4), v(4);
            f(c, g, p, m, v, 1e-3, 0.9, 0.999, 1e-8, int64_t(1));
            for (size_t k = 0; k < 4; k++) {
                double x = double(g[k]), exact = -1e-3 * x / (std::sqrt(x * x) + 1e-8);
                CHECK(std::fabs(double(p[k]) - exact) <= 2 * std::ldexp(1.0, std::ilogb(exact) - 23));
            }
            CHECK(double(p[0]) == doctest::Approx(-5e-4));  // half of lr: eps is as large as the gradient, and not scaled
        });
    }
}

TEST_CASE("AMSGrad takes the maximum of the uncorrected second moments") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}}, vmax{"vmax", f32, {n}};
    Input<int64_t> step{"step"};
    step.range(1, 9);
    v.range(0, 1), vmax.range(0, 1);
    Tensor gsum{"gsum"}, m1{"m1"}, v1{"v1"}, high{"high"}, p1{"p1"};
    const double b1 = .9, b2 = .9, lr = .01, eps = 1e-8;
    gsum = all_reduce(g);
    m1(i) = float(b1) * m(i) + float(1 - b1) * gsum(i);
    v1(i) = float(b2) * v(i) + float(1 - b2) * gsum(i) * gsum(i);
    high(i) = max(vmax(i), v1(i));
    p1(i) = p(i) - float(lr) * cast<float>(1 / (1 - pow(Expr(b1), step))) * m1(i) /
                       (sqrt(high(i)) * cast<float>(1 / sqrt(1 - pow(Expr(b2), step))) + float(eps));
    update(p, p1), update(m, m1), update(v, v1), update(vmax, high);
    Program amsgrad{"amsgrad", {g, p, m, v, vmax, step}};
    Schedule fused(amsgrad);
    fused.reorder(fused.split(gsum).ag, {m1, v1, high, p1});
    fused.fuse_all();
    CheckOptions o;
    o.ranks = {1, 2, 3};
    check_bits(amsgrad, fused, o);
    check_bits(amsgrad, Schedule(amsgrad), o);
    // Two steps of [1, .1]: the second moment falls, so that the corrected maximum would be another.
    Compiled f = compile(amsgrad, fused);
    run(threads(2), [&](Communicator &c) {
        std::vector<float> g(1), p(1), m(1), v(1), vmax(1);
        double P = 0, M = 0, V = 0, H = 0;
        for (int64_t s = 1; s <= 2; s++) {
            double x = s == 1 ? 1 : .1;
            g[0] = float(x / 2);  // each of two ranks has half
            f(c, g, p, m, v, vmax, s);
            M = b1 * M + (1 - b1) * x, V = b2 * V + (1 - b2) * x * x, H = std::max(H, V);
            P -= lr * M / (1 - std::pow(b1, double(s))) / (std::sqrt(H / (1 - std::pow(b2, double(s)))) + eps);
        }
        CHECK(H > V);
        CHECK(double(vmax[0]) == doctest::Approx(H).epsilon(1e-6));
        CHECK(double(p[0]) == doctest::Approx(P).epsilon(1e-6));
    });
}

TEST_CASE("the step counter is an argument: two parameters, two steps, both use step 2 in the second") {
    Size n{"n"}, k{"k"};
    Var i{"i"};
    InOut<Tensor> a{"a", f64, {n}}, b{"b", f64, {k}};
    Input<int64_t> step{"step"};
    Tensor a1{"a1"}, b1{"b1"};
    a1(i) = a(i) + pow(Expr(10.0), step);
    b1(i) = b(i) + pow(Expr(10.0), step);
    update(a, a1), update(b, b1);
    Compiled f = compile(Program{"two_parameters", {a, b, step}});
    run(threads(2), [&](Communicator &c) {
        std::vector<double> a(3), b(2);
        for (int64_t s = 1; s <= 2; s++) f(c, a, b, s);
        for (double x : a) CHECK(x == 110);
        for (double x : b) CHECK(x == 110);
    });
}
