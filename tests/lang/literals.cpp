// Literals of every C++ type beside tensors, scalars and expressions.
#include <doctest/doctest.h>
#include <stretto/stretto.h>

#include <sstream>

using namespace stretto;

namespace {

std::string text(const Expr &e) {
    std::ostringstream o;
    o << e.type() << " " << e;
    return o.str();
}

std::string refusal(const std::function<void()> &f) {
    try {
        f();
    } catch (const Error &e) { return e.what(); }
    return "";
}

}  // namespace

TEST_CASE("a double beside a float has its type; beside an integer, or alone, it is float64") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> h{"h", f16, {n}}, x{"x", f32, {n}}, d{"d", f64, {n}}, k{"k", i32, {n}};
    Input<float> lr{"lr"};
    Input<double> eps{"eps"};
    for (auto &[e, type] : std::vector<std::pair<Expr, Type>>{{0.5 * x(i), f32},
                                                              {x(i) * 0.5, f32},
                                                              {x(i) % 0.5, f32},
                                                              {(x(i) + 1) / 0.1, f32},
                                                              {1.0 - lr, f32},
                                                              {lr - 1.0, f32},
                                                              {1.0 - eps, f64},
                                                              {0.1 * d(i), f64},
                                                              {0.1 * h(i), f16},
                                                              {0.5 * k(i), f64},
                                                              {max(x(i), 0.0), f32},
                                                              {min(0.0, d(i)), f64},
                                                              {pow(x(i), 2.0), f32},
                                                              {clamp(x(i), -1.0, 1.0), f32},
                                                              {select(x(i) > 0.0, x(i), 0.5), f32},
                                                              {select(0.0 <= d(i), 0.5, d(i)), f64},
                                                              {select(x(i) != 0.0, 1, 0.5), f64},
                                                              {select(x(i) == 0.0, 1.0, 0.5), f64},
                                                              {2 * x(i), f32},
                                                              {0.5f * x(i), f32},
                                                              {0.5f * d(i), f64},
                                                              {max(x(i), 0), f32},
                                                              {select(x(i) > 0, 1.0f, 0.0f), f32}})
        CHECK_MESSAGE(e.type() == type, text(e));
    CHECK(text(0.1 * d(i)).find("0.100000") != std::string::npos);
    CHECK(text(0.5 * k(i)).find("0.5") != std::string::npos);  // not 0, as a literal taken for an int would be
}

TEST_CASE("a double beside a whole tensor") {
    Size n{"n"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {n}};
    Var i{"i"};
    Tensor t = 1.0 - (0.5 * x + 0.25) / 2.0;
    y(i) = t(i);
    Program p{"whole", {x, y}};
    CheckReport r = check(p, Schedule(p), {1, 2});
    CHECK_MESSAGE(r.ok(), to_string(r));
}

TEST_CASE("a literal that the type beside it cannot hold is refused") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> h{"h", f16, {n}}, x{"x", f32, {n}};
    CHECK(refusal([&] { Expr e = 1e5 * h(i); }) ==
          "the literal 100000 beside a float16, whose largest number is 65504.\n"
          "Legal: a wider type, cast<float>(...)");
    CHECK(refusal([&] { Expr e = max(x(i), -1e39); }) ==
          "the literal -1e+39 beside a float32, whose largest number is 3.40282e+38.\n"
          "Legal: a wider type, cast<double>(...)");
    CHECK(refusal([&] { Expr e = max(x(i), -INFINITY); }) == "");
}
