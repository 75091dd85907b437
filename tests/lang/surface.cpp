// What a user can write wrong, outside of layouts, is an Error with what is legal. Found by tests/lower/surface_fuzzer.cpp.
#include <doctest/doctest.h>
#include "lang/program.h"
#include "lang/reference/random_inputs.h"

using namespace stretto;

namespace {

std::string refusal(const std::function<void()> &f) {
    try {
        f();
    } catch (const Error &e) { return e.what(); }
    return "not refused";
}

struct Written {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}}, k{"k", i32, {n}};
    Input<int> s{"s"};
    Input<uint64_t> seed{"seed"};
    Output<Tensor> y{"y", f32, {n}};

    Program program(const Expr &value) {
        y(i) = value;
        return Program("p", {x, k, s, seed, y});
    }
};

std::string refusal_of(const std::function<Expr(Written &)> &value) {
    Written w;
    return refusal([&] { w.program(value(w)); });
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("fuzz: what Halide refuses in an expression is an Error, in the words of the language") {
    const Expr none;
    for (auto &f : std::vector<std::function<Expr(Written &)>>{
             [&](auto &w) { return w.x(w.i) + none; }, [&](auto &w) { return max(none, w.x(w.i)); },
             [&](auto &) { return sqrt(none); }, [&](auto &) { return cast<float>(none); },
             [&](auto &w) { return cast(Halide::Handle(), w.x(w.i) * w.s); },
             [&](auto &w) { return select(w.x(w.i), 1, 2); }}) {
        const std::string text = refusal_of(f);
        CHECK_MESSAGE(has(text, "In an expression: "), text);
        CHECK_MESSAGE(has(text, "\nLegal: "), text);
        for (const char *made : {"scalar.", "stretto_", "(void *)"}) CHECK_MESSAGE(!has(text, made), text);
    }
    CHECK(has(refusal_of([](auto &w) { return cast(Halide::Handle(), w.x(w.i) * w.s); }), "x(i)"));
}

TEST_CASE("fuzz: the operands of erf and dropout have a value") {
    const Expr none;
    CHECK(has(refusal_of([&](auto &) { return erf(Expr(none)); }), "operand of erf is an Expr without a value"));
    CHECK(has(refusal_of([&](auto &w) { return dropout(none, 0.5f, w.seed); }), "operand of dropout is an Expr without"));
    CHECK(has(refusal_of([&](auto &w) { return dropout(w.x(w.i), none, w.seed); }), "\nLegal: "));
}

TEST_CASE("fuzz: vectors of conditions are no type of elements") {
    Written w;
    Input<Tensor> v{"v", Halide::UInt(1, 8), {w.n}};
    w.y(w.i) = w.x(w.i);
    CHECK(has(refusal([&] { Program("p", {v, w.x, w.y}); }), "v is of type"));
    CHECK(has(refusal_of([](auto &w) { return cast<float>(cast(Halide::Bool(4), w.x(w.i))); }), "of type"));
}

TEST_CASE("fuzz: bits of floats, and shifts by more bits than there are") {
    for (auto &f : std::vector<std::function<Expr(Written &)>>{
             [](auto &w) { return w.x(w.i) & 1; }, [](auto &w) { return w.x(w.i) << 1; }, [](auto &w) { return w.x(w.i) >> 1; },
             [](auto &w) { return cast<float>(w.k(w.i) << 32); }, [](auto &w) { return cast<float>(w.k(w.i) >> 70); },
             [](auto &w) { return cast<float>(w.k(w.i) << Expr(-40)); },
             [](auto &w) { return cast<float>(Halide::popcount(w.k(w.i) > 0)); }})
        CHECK_MESSAGE(has(refusal_of(f), "which has no such bits.\nLegal: operations on bits of integers"), refusal_of(f));
    CHECK(refusal_of([](auto &w) { return cast<float>((w.k(w.i) << 31) >> 31); }) == "not refused");
    CHECK(refusal_of([](auto &w) { return cast<float>(w.k(w.i) & 1); }) == "not refused");
}

TEST_CASE("fuzz: the complement of a condition is its opposite") {
    Written w;
    const Program p = w.program(select(~(w.k(w.i) > 0), 1.0f, 2.0f));
    const RunInputs in = random_inputs(p.graph(), {{"n", 20}}, 1, 3);
    const RunResult r = interpret(p.graph(), 1, in);
    for (int64_t i = 0; i < 20; i++)
        CHECK(r.arguments.at("y")[0].get(i) == (in.tensors.at("k")[0].get(i) > 0 ? 2 : 1));
}

TEST_CASE("fuzz: a requirement draws no random number") {
    Written w;
    Program p = w.program(w.x(w.i));
    CHECK(has(refusal([&] { p.require(random(w.seed) < 0.5f, "t"); }), "uses random(...)"));
}

TEST_CASE("fuzz: what has no dimension has no slices, and what is legal instead is said") {
    Written w;
    Tensor t{"t"}, u{"u"};
    t() = sum_over(w.i, w.x(w.i));
    CHECK(has(refusal([&] { u = slice_of(t, 0); }), "t has 0 dimensions.\nLegal: t itself"));
    Input<Tensor> a{"a", f32, {}, partial(Sum)};
    Output<Tensor> o{"o", f32, {}};
    o = reduce_scatter(a, 0);
    CHECK(has(refusal([&] { Program("p", {a, o}); }), "\nLegal: all_reduce"));
}

TEST_CASE("fuzz: literals of type double define tensors, fill shifts and are rates") {
    Written w;
    Input<Tensor> l{"l", f32, {w.n}, local};
    Output<Tensor> half{"half", f16, {w.n}}, wide{"wide", f64, {w.n}}, s{"s", f32, {w.n}, local}, d{"d", f32, {w.n}};
    Tensor t{"t"};
    half(w.i) = 0.5;
    wide(w.i) = 0.1;
    s = shift(l, 1, fill(0.25));
    d(w.i) = dropout(w.x(w.i), 0.5, w.seed) + dropout(w.x(w.i), 0.5, w.seed, 7, {w.i});
    CHECK_NOTHROW(Program("p", {l, w.x, w.seed, half, wide, s, d}));
    t() = 0.5;
    CHECK(t.definition()->type == f64);
    CHECK(has(refusal([&] {
                  Output<Tensor> h{"h", f16, {w.n}};
                  h(w.i) = 1e6;
              }),
              "the literal 1e+06 beside a float16"));
}
