// Programs that once had other bits than the reference, or were refused though they are right. Each came out of random ones.
#include <doctest/doctest.h>
#include <stretto/stretto.h>

using namespace stretto;

namespace {

void same_bits(const Program &p, std::vector<int64_t> sizes = {1, 2, 5, 33, 64}) {
    CheckOptions o;
    o.ranks = {1, 2};
    o.sizes = std::move(sizes);
    CheckReport r = check(p, Schedule(p), o);
    CHECK_MESSAGE(r.ok(), to_string(r));
}

}  // namespace

TEST_CASE("factors of a contraction that are computed are rounded") {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    using F = std::function<Expr(Expr, Expr, Expr)>;  // of x, w, s
    const std::pair<const char *, F> forms[] = {
        {"x * s * w", [](Expr x, Expr w, Expr s) { return x * s * w; }},
        {"x * (w * s)", [](Expr x, Expr w, Expr s) { return x * (w * s); }},
        {"x * w * w", [](Expr x, Expr w, Expr) { return x * w * w; }},
        {"x * 0.3 * s", [](Expr x, Expr, Expr s) { return x * 0.3f * s; }},
        {"sqrt(x) * sqrt(x)", [](Expr x, Expr, Expr) { return sqrt(abs(x)) * sqrt(abs(x)); }},
        {"sqrt(x) * sqrt(w)", [](Expr x, Expr w, Expr) { return sqrt(abs(x)) * sqrt(abs(w)); }},
        {"abs(x) * abs(w)", [](Expr x, Expr w, Expr) { return abs(x) * abs(w); }},
        {"(x + w) * s", [](Expr x, Expr w, Expr s) { return (x + w) * s; }},
    };
    for (auto &[name, form] : forms) {
        INFO(name);
        Input<float> s{"s"};
        {
            Input<Tensor> x{"x", f32, {K, B}}, w{"w", f32, {K}};
            Output<Tensor> y{"y", f32, {B}};
            y(b) = sum_over(k, form(x(k, b), w(k), Expr(s)));
            same_bits(Program{"last_index", {x, w, s, y}});
        }
        {
            Input<Tensor> x{"x", f32, {B, K}}, w{"w", f32, {K, H}};
            Output<Tensor> y{"y", f32, {B, H}};
            y(b, h) = sum_over(k, form(x(b, k), w(k, h), Expr(s)));
            same_bits(Program{"product", {x, w, s, y}});
        }
    }
}

TEST_CASE("a float that passes through an integer to a narrower one wraps") {
    Size n{"n"};
    Var i{"i"};
    for (Type narrow : {u8, i8, u16, i16}) {
        Input<Tensor> x{"x", f32, {n}}, z{"z", i32, {n}};
        Output<Tensor> y{"y", f32, {n}};
        x.range(-70000, 70000);
        y(i) = cast<float>(min(Halide::cast<int32_t>(Halide::cast(narrow, cast<int32_t>(x(i) + x(i)))), z(i)));
        same_bits(Program{"wraps", {x, z, y}}, {3, 5, 37});
    }
}

TEST_CASE("division by a constant 0") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> a{"a", f32, {n}}, b{"b", f32, {n}}, c{"c", f32, {n}};
    a(i) = x(i) / 0.0f;
    b(i) = (x(i) - x(i)) / -0.0f;
    c(i) = x(i) % 0.0f;
    same_bits(Program{"by_zero", {x, a, b, c}}, {1, 37});
}

TEST_CASE("a wider output beside an update in place") {
    Size n{"n"};
    Var i{"i"};
    InOut<Tensor> p{"p", f32, {n}};
    Input<Tensor> z{"z", f32, {n}};
    Output<Tensor> q{"q", f64, {n}};
    Tensor p1{"p1"};
    p1(i) = z(i);
    q(i) = cast<double>((p(i) + z(i)) * (p(i) + z(i)));
    update(p, p1);
    same_bits(Program{"wider", {p, z, q}}, {0, 1, 37});
}

TEST_CASE("a reduction's extents are those its tensor is declared with, where no operand has the bare index") {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}}, w{"w", f32, {K, H}};
    Output<Tensor> y{"y", f32, {B, H}}, z{"z", f32, {B, H}};
    y(b, h) = sum_over(k, x(b, k) * w(k, cast<int32_t>(H) - 1 - h));
    z(b, h) = 2.0f * sum_over(k, x(b, k) * w(k, cast<int32_t>(H) - 1 - h));
    same_bits(Program{"reversed", {x, w, y, z}}, {1, 5, 33});
}
