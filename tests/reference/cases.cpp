// Inputs on which others failed, as far as one program on simulated ranks can show them.
#include "lang/error.h"
#include "program_check.h"

using namespace stretto;
using namespace stretto::test;

namespace {

const double nan_ = std::numeric_limits<double>::quiet_NaN();

std::string error_of(const std::function<void()> &f) {
    try {
        f();
    } catch (const Error &e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("NaN in a maximum or minimum, on each rank in turn, and within a rank") {
    for (Type t : {f32, f64, f16, bf16}) {
        for (ReduceOp op : {ReduceOp::Max, ReduceOp::Min}) {
            Size n{"n"};
            Var i{"i"};
            Input<Tensor> g{"g", t, {n}, partial(op)}, x{"x", t, {n}};
            Output<Tensor> out{"out", t, {n}}, full{"full", t, {}};
            out = all_reduce(g);
            full() = op == ReduceOp::Max ? max_over(i, x(i)) : min_over(i, x(i));
            Program p{"extremum", {g, x, out, full}};
            for (int bad = 0; bad < 3; bad++) {
                Values v(p, 3, {{"n", 3}});
                const double values[] = {1, 2, 3};
                v.set("g", [&](int r, auto &) { return r == bad ? nan_ : values[r]; });
                v.set("x", [&](int, auto &i) { return i[0] == bad ? nan_ : values[i[0]]; });
                v.run();
                for (int r = 0; r < 3; r++) {
                    for (int64_t i = 0; i < 3; i++)
                        CHECK(std::isnan(v.out.arguments.at("out")[size_t(r)].get(i)));
                    CHECK(std::isnan(v.out.arguments.at("full")[size_t(r)].get(0)));
                }
            }
        }
    }
}

TEST_CASE("bf16: 256 and seven ones are 264, with accumulation in float32 and one rounding") {
    for (Type t : {bf16, f16}) {
        Size n{"n"};
        Input<Tensor> g{"g", t, {n}, partial(Sum)};
        Output<Tensor> whole{"whole", t, {n}}, slice{"slice", t, {n}, sliced(0)}, wide{"wide", f32, {n}};
        whole = all_reduce(g);
        slice = reduce_scatter(g, 0);
        wide = all_reduce(g, f32);
        Program p{"sum", {g, whole, slice, wide}};
        Values v(p, 8, {{"n", 5}});
        double first = t == bf16 ? 256 : 2048;
        v.set("g", [&](int r, auto &) { return r == 0 ? first : 1; });
        v.run();
        double expected = t == bf16 ? 264 : 2056;  // 2055 ties to even
        v.expect("whole", 0, [&](auto &) { return expected; });
        v.expect("slice", 0, [&](auto &) { return expected; });
        v.expect("wide", 0, [&](auto &) { return first + 7; });
    }
}

TEST_CASE("a rank whose slice is empty: f32[3, 3] on dimension 0 over 4 ranks") {
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {3, 3}, sliced(0)};
    Output<Tensor> high{"high", f32, {}}, sum{"sum", f32, {3}};
    Tensor rows{"rows"}, columns{"columns"}, blocks{"blocks"};
    Tensor mine{"mine"};
    mine(j) = max_over(i, x(i, j));
    Tensor all{"all"};
    all = all_reduce(mine);
    high() = max_over(j, all(j));
    columns(j) = sum_over(i, x(i, j));
    sum = all_reduce(columns);
    Program p{"empty_slice", {x, high, sum}};
    Values v(p, 4, {});
    v.set("x", [](int, auto &i) { return -1.0 - double(i[0] * 3 + i[1]); });
    v.run();
    CHECK(v.in.tensors.at("x")[0].count() == 0);  // 3 * 1 / 4 is 0
    for (int r = 0; r < 4; r++) CHECK(v.out.arguments.at("high")[size_t(r)].get(0) == -1);
    v.expect("sum", 0, [](auto &j) { return -(1 + 4 + 7 + 3.0 * double(j[0])); });
}

TEST_CASE("five elements on four ranks: every one is owned once, nothing counts padding") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, sliced(0)};
    Output<Tensor> y{"y", f32, {n}, sliced(0)}, norm{"norm", f32, {}};
    Tensor whole{"whole"};
    y(i) = x(i) * 2.0f;
    whole = all_gather(x);
    norm() = norm2(i, whole(i));
    Program p{"uneven", {x, y, norm}};
    Values v(p, 4, {{"n", 5}});
    v.set("x", [](int, auto &i) { return double(i[0] + 1); });
    v.run();
    std::vector<int> owners(5);
    for (auto &t : v.out.arguments.at("y"))
        for (int64_t k = 0; k < t.count(); k++) owners[size_t(t.begin[0] + k)]++;
    for (int o : owners) CHECK(o == 1);
    v.expect("y", 0, [](auto &i) { return 2.0 * double(i[0] + 1); });
    CHECK(v.out.arguments.at("norm")[3].get(0) == double(std::sqrt(55.f)));
}

TEST_CASE("gather and scatter of (2, 3, 33, 5) on each of its dimensions") {
    for (int d = 0; d < 4; d++) {
        Input<Tensor> x{"x", f32, {2, 3, 33, 5}, sliced(d)}, g{"g", f32, {2, 3, 33, 5}, partial(Sum)};
        Output<Tensor> whole{"whole", f32, {2, 3, 33, 5}}, slice{"slice", f32, {2, 3, 33, 5}, sliced(d)};
        whole = all_gather(x);
        slice = reduce_scatter(g, d);
        Program p{"any_dimension", {x, g, whole, slice}};
        for (int ranks : rank_counts) {
            Values v(p, ranks, {});
            v.run();
            v.expect("whole", 0, [&](auto &i) { return v.before("x", i); });
            v.expect("slice", 1e-6, [&](auto &i) { return v.sum_before("g", i); });
        }
    }
}

TEST_CASE("the first Adam step: a gradient of eps, within 2 ulp of the textbook, eps not scaled") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}};
    Input<double> lr{"lr"}, beta1{"beta1"}, beta2{"beta2"}, eps{"eps"};
    Input<int64_t> step{"step"};
    Tensor gsum{"gsum"}, m1{"m1"}, v1{"v1"}, p1{"p1"};
    gsum = all_reduce(g);
    m1(i) = cast<float>(beta1) * m(i) + cast<float>(1 - beta1) * gsum(i);
    v1(i) = cast<float>(beta2) * v(i) + cast<float>(1 - beta2) * gsum(i) * gsum(i);
    p1(i) = p(i) - cast<float>(lr / (1 - pow(beta1, step))) * m1(i) /
                       (sqrt(v1(i)) * cast<float>(1 / sqrt(1 - pow(beta2, step))) + cast<float>(eps));
    update(p, p1), update(m, m1), update(v, v1);
    Program adam{"adam", {g, p, m, v, lr, beta1, beta2, eps, step}};
    Values x(adam, 1, {{"n", 1}});
    for (const char *zero : {"p", "m", "v"}) x.set(zero, [](int, auto &) { return 0; });
    x.set("g", [](int, auto &) { return 1e-8; });
    x.in.scalars["lr"] = 1e-3, x.in.scalars["beta1"] = .9, x.in.scalars["beta2"] = .999,
    x.in.scalars["eps"] = 1e-8;
    x.in.scalars["step"] = 1;
    x.run();
    double g0 = x.before("g", {0}), exact = -1e-3 * g0 / (std::sqrt(g0 * g0) + 1e-8);
    double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    CHECK(std::fabs(x.out.arguments.at("p")[0].get(0) - exact) <= 2 * unit);
    CHECK(exact == doctest::Approx(-5e-4));  // half of lr: eps is as large as the gradient
}

TEST_CASE("AMSGrad: the maximum is of the uncorrected second moments") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}}, v{"v", f32, {n}}, vmax{"vmax", f32, {n}};
    Input<double> beta2{"beta2"};
    Input<int64_t> step{"step"};
    Tensor gsum{"gsum"}, m1{"m1"}, v1{"v1"}, high{"high"}, p1{"p1"};
    gsum = all_reduce(g);
    m1(i) = 0.9f * m(i) + 0.1f * gsum(i);
    v1(i) = cast<float>(beta2) * v(i) + cast<float>(1 - beta2) * gsum(i) * gsum(i);
    high(i) = max(vmax(i), v1(i));
    p1(i) = p(i) - 0.01f * cast<float>(1 / (1 - pow(Expr(0.9), step))) * m1(i) /
                       (sqrt(high(i)) * cast<float>(1 / sqrt(1 - pow(beta2, step))) + 1e-8f);
    update(p, p1), update(m, m1), update(v, v1), update(vmax, high);
    Program amsgrad{"amsgrad", {g, p, m, v, vmax, beta2, step}};
    Values x(amsgrad, 1, {{"n", 1}});
    for (const char *zero : {"p", "m", "v", "vmax"}) x.set(zero, [](int, auto &) { return 0; });
    double P = 0, M = 0, V = 0, H = 0;
    const double gradients[] = {1, .1}, b2 = .9;
    x.in.scalars["beta2"] = b2;
    for (int s = 1; s <= 2; s++) {
        double g0 = gradients[s - 1];
        x.set("g", [&](int, auto &) { return g0; });
        x.in.scalars["step"] = s;
        x.run();
        for (const char *state : {"p", "m", "v", "vmax"}) x.in.tensors[state] = x.out.arguments.at(state);
        M = .9 * M + .1 * g0, V = b2 * V + (1 - b2) * g0 * g0, H = std::max(H, V);
        P -= .01 * M / (1 - std::pow(.9, s)) / (std::sqrt(H / (1 - std::pow(b2, s))) + 1e-8);
    }
    CHECK(H > V);  // the second moment fell: corrected and uncorrected maxima differ
    CHECK(x.out.arguments.at("vmax")[0].get(0) == doctest::Approx(H).epsilon(1e-6));
    CHECK(x.out.arguments.at("p")[0].get(0) == doctest::Approx(P).epsilon(1e-6));
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
    Program p{"two_parameters", {a, b, step}};
    Values v(p, 2, {{"n", 3}, {"k", 2}});
    v.set("a", [](int, auto &) { return 0; }), v.set("b", [](int, auto &) { return 0; });
    for (int s = 1; s <= 2; s++) {
        v.in.scalars["step"] = s;
        v.run();
        for (const char *state : {"a", "b"}) v.in.tensors[state] = v.out.arguments.at(state);
    }
    v.expect("a", 0, [](auto &) { return 110.0; });
    v.expect("b", 0, [](auto &) { return 110.0; });
}

TEST_CASE("an InOut name is its value at entry: two tensors swap") {
    Size n{"n"};
    Var i{"i"};
    InOut<Tensor> a{"a", f32, {n}}, b{"b", f32, {n}};
    Tensor to_a{"to_a"}, to_b{"to_b"};
    to_a(i) = b(i) + 0.0f;
    to_b(i) = a(i) + 0.0f;
    update(a, to_a), update(b, to_b);
    Program p{"swap", {a, b}};
    Values v(p, 3, {{"n", 7}});
    v.run();
    v.expect("a", 0, [&](auto &i) { return v.before("b", i); });
    v.expect("b", 0, [&](auto &i) { return v.before("a", i); });
}

TEST_CASE("random numbers are Philox4x32-10 of the global index, the same however the tensor is sliced") {
    // The known answers of the generator's authors for word 0: counter and key all zero, and all ones.
    Var i{"i"};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> out{"out", f32, {1}};
    out(i) = random(seed, 0);
    Program one{"one", {seed, out}};
    Values v(one, 1, {});
    v.in.scalars["seed"] = uint64_t(0);
    v.run();
    CHECK(v.out.arguments.at("out")[0].get(0) == double(0x6627e8d5u >> 8) * 0x1p-24);

    Size n{"n"}, m{"m"};
    Var j{"j"};
    Input<Tensor> x{"x", f32, {m, n}, sliced(1)}, y{"y", f32, {m, n}};
    Output<Tensor> kept{"kept", f32, {m, n}, sliced(1)}, whole{"whole", f32, {m, n}};
    kept(i, j) = dropout(x(i, j), 0.5f, seed, 3);
    whole(i, j) = dropout(y(i, j), 0.5f, seed, 3);
    Program both{"both", {x, y, seed, kept, whole}};
    Values w(both, 3, {{"m", 20}, {"n", 31}});
    w.set("x", [](int, auto &) { return 1; }), w.set("y", [](int, auto &) { return 1; });
    w.in.scalars["seed"] = uint64_t(0x123456789abcdefu);
    w.run();
    int64_t ones = 0;
    for (auto &t : w.out.arguments.at("kept"))
        for_each_index(t.begin, t.extent, [&](auto &i) {
            double k = t.get(t.position(i));
            CHECK((k == 0 || k == 2));
            ones += k != 0;
            CHECK(k == w.out.arguments.at("whole")[0].get(i[0] * 31 + i[1]));
        });
    CHECK(ones > 250);
    CHECK(ones < 370);
}

TEST_CASE("inputs that do not fit are errors") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, sliced(0)}, y{"y", f32, {n}};
    Input<float> c{"c"};
    Output<Tensor> out{"out", f32, {n}, sliced(0)};
    out(i) = x(i) * c + y(i);
    Program p{"p", {x, y, c, out}};
    const std::map<std::string, int64_t> sizes{{"n", 5}};
    auto with = [&](const std::function<void(RunInputs &)> &spoil) {
        RunInputs in = random_inputs(p.graph(), sizes, 2, 1);
        spoil(in);
        return error_of([&] { interpret(p.graph(), 2, in); });
    };
    CHECK(with([](auto &) {}) == "no error");
    CHECK(with([](auto &in) { in.tensors.erase("x"); }) == "reference: argument x has no value");
    CHECK(with([](auto &in) { in.scalars.erase("c"); }) == "reference: argument c has no value");
    CHECK(with([](auto &in) { in.sizes.clear(); }) == "reference: size n has no value");
    CHECK(with([](auto &in) { in.tensors["x"].pop_back(); }) ==
          "reference: argument x has 1 values for 2 ranks");
    CHECK(with([](auto &in) { std::swap(in.tensors["x"][0], in.tensors["x"][1]); }) ==
          "reference: argument x on rank 0 is float32[2:5], not float32[0:2]");
    CHECK(with([](auto &in) { in.tensors["y"][0].type = i32; }) ==
          "reference: argument y on rank 0 is int32[0:5], not float32[0:5]");
    CHECK(with([](auto &in) { in.tensors["y"][1].set(3, 7); }) ==
          "reference: argument y is replicated, but rank 1 has other values than rank 0");
}
