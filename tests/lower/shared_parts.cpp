// Expressions are graphs: what is used many times is computed, walked and printed once.
#include <doctest/doctest.h>
#include <cmath>
#include "lang/print.h"
#include "lang/reference/reference.h"
#include "lower/generator/check.h"
#include "lower/lower.h"

using namespace stretto;

namespace {

// y(i) = what f makes of x(i).
struct Pointwise {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> y{"y", f32, {n}};

    Program program(const std::function<Expr(Expr)> &f) {
        y(i) = f(x(i));
        return Program{"p", {x, seed, y}};
    }
};

std::vector<float> results(const Program &p, const std::vector<float> &x, const std::string &name = "y") {
    RunInputs in;
    in.sizes["n"] = int64_t(x.size());
    in.scalars["seed"] = ScalarValue(u64, Value::of(uint64_t(7)));
    HostTensor t(f32, {0}, {int64_t(x.size())});
    for (size_t k = 0; k < x.size(); k++) t.store(int64_t(k), Value::of(x[k]));
    in.tensors["x"] = {t};
    RunResult r = interpret(p.graph(), 1, in);
    std::vector<float> y;
    for (size_t k = 0; k < x.size(); k++) y.push_back(r.arguments.at(name)[0].load(int64_t(k)).as<float>());
    return y;
}

CheckReport checked(const Program &p) {
    CheckOptions o;
    o.ranks = {1, 3};
    return check(p, Schedule(p), o);
}

std::vector<float> ramp(int n) {
    std::vector<float> x;
    for (int k = 0; k < n; k++) x.push_back(float(k) / float(n));
    return x;
}

}  // namespace

TEST_CASE("one call of random is one number, wherever it is used") {
    Pointwise q;
    Program p = q.program([&](Expr) {
        Expr u = random(q.seed);
        return select(u < 0.5f, u, 1.0f);
    });
    for (float y : results(p, ramp(1000))) CHECK((y < 0.5f || y == 1.0f));
    CHECK(checked(p).ok());

    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> y{"y", f32, {n}}, back{"back", f32, {n}};
    Expr u = random(seed);
    y(i) = u;
    back(i) = u;
    Program two{"two", {x, seed, y, back}};
    CHECK(results(two, ramp(100)) == results(two, ramp(100), "back"));
}

TEST_CASE("a stream that nobody named is none that somebody did") {
    Pointwise q;
    Program p = q.program([&](Expr) { return select(random(q.seed) == random(q.seed, 0), 1.0f, 0.0f); });
    for (float y : results(p, ramp(1000))) CHECK(y == 0.0f);
}

TEST_CASE("random numbers inside a reduction say which they are") {
    Size n{"n"};
    Var k{"k"};
    Input<Tensor> w{"w", f32, {n}};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> z{"z", f32, {}};
    z() = sum_over(k, random(seed) * w(k));
    CHECK_THROWS_WITH_AS((Program{"p", {w, seed, z}}),
                         "In program p: random(seed) inside a reduction: its indices are those of the left side, and "
                         "each addend would have the same number.\nLegal: the stream and the indices, random(seed, 0, {k}); "
                         "dropout(e, rate, seed, 0, {k})",
                         Error);
    Output<Tensor> said{"said", f32, {}};
    said() = sum_over(k, random(seed, 0, {k}) * w(k));
    CHECK(checked(Program{"p", {w, seed, said}}).ok());
}

TEST_CASE("a reduction that is used twice is computed once") {
    Size n{"n"};
    Var i{"i"}, k{"k"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {n}}, z{"z", f32, {n}};
    Expr sum = sum_over(k, x(k));
    y(i) = x(i) / sum + sum;
    z(i) = x(i) - sum;
    Program p{"p", {x, y, z}};
    int folds = 0;
    for (auto &node : p.graph().nodes) folds += node.as<Fold>() != nullptr;
    CHECK(folds == 1);
    CHECK(checked(p).ok());
}

TEST_CASE("indices have names that mean nothing, and reductions stand inside each other") {
    Size n{"n"}, m{"m"};
    Var block{"block"}, k{"k"}, b{"b"};
    Input<Tensor> x{"x", f32, {n, m}}, w{"w", f32, {n}};
    Output<Tensor> y{"y", f32, {m}}, s{"s", f32, {}}, same{"same", f32, {n}};
    y(block) = sum_over(k, w(k) * x(k, block));
    s() = sum_over(block, w(block) * sum_over(k, x(block, k)));
    same(b) = sum_over(k, w(k));
    Program p{"p", {x, w, y, s, same}};
    CHECK(checked(p).ok());
}

TEST_CASE("a thousand steps over what is used twice") {
    const std::vector<std::pair<const char *, std::function<Expr(Expr)>>> steps = {
        {"max", [](Expr e) { return max(e, 0.25f); }},
        {"clamp", [](Expr e) { return clamp(e, 0.25f, 0.75f); }},
        {"square", [](Expr e) { return e * e * 0.5f + 0.125f; }},
        {"Newton", [](Expr e) { return e * (1.5f - 0.5f * e * e); }},
    };
    for (auto &[name, step] : steps) {
        INFO(name);
        Pointwise q;
        Program p = q.program([&, step = step](Expr e) {
            for (int k = 0; k < 1000; k++) e = step(e);
            return e;
        });
        CHECK(to_string(p).size() < 20000);
        Lowering l = lower_to_stages(p.graph());
        CHECK(l.items.size() == 1);
    }
}

TEST_CASE("whole tensors, used twice each time") {
    Pointwise q;
    Tensor t = q.x + q.x;
    for (int k = 0; k < 40; k++) t = t * 0.5f + t * 0.5f;
    Output<Tensor> out{"out", f32, {q.n}};
    out(q.i) = t(q.i);
    Program p{"p", {q.x, q.seed, out}};
    CHECK(results(p, {1, 2, 3}, "out") == std::vector<float>{2, 4, 6});
    CHECK(checked(p).ok());
}

TEST_CASE("fifty compiled steps have the bits of the loop") {
    Pointwise q;
    Program p = q.program([](Expr e) {
        for (int k = 0; k < 50; k++) e = max(e * e, 0.25f) * 0.5f + 0.125f;
        return e;
    });
    CHECK(checked(p).ok());
    std::vector<float> x = ramp(100), y = results(p, x);
    for (size_t j = 0; j < x.size(); j++) {
        float e = x[j];
        for (int k = 0; k < 50; k++) e = std::max(e * e, 0.25f) * 0.5f + 0.125f;
        CHECK(y[j] == e);
    }
}

TEST_CASE("as many operations inside each other as are legal") {
    Pointwise q;
    Program p = q.program([](Expr e) {
        for (int k = 0; k < 2490; k++) e = e * 0.5f + 1.0f;
        return e;
    });
    lower_to_stages(p.graph());
    CHECK(results(p, {0.5f}) == std::vector<float>{2.0f});
}

TEST_CASE("scalars too are computed once") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Input<float> c{"c"};
    Output<Tensor> y{"y", f32, {n}};
    Expr e = c;
    for (int k = 0; k < 100; k++) e = e * e * 0.5f + 0.125f;
    y(i) = x(i) * e;
    CHECK(checked(Program{"p", {x, c, y}}).ok());
}
