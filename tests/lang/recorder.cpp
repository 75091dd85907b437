// What cannot be recorded: definitions, names, indices, arguments, updates. Each message says what was written and what is
// legal.
#include "refusals.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Objects {
    Size n{"n"}, m{"m"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> x{"x", f32, {n}}, w{"w", f32, {m, n}};
    InOut<Tensor> p{"p", f32, {n}}, q{"q", f32, {n}};
    Output<Tensor> out{"out", f32, {n}};
    Input<float> c{"c"};
    Tensor t{"t"}, u{"u"};
    void program() {
        Program{"prog", {x, w, p, q, out, c}};
    }
};

struct Refused : Refusals {
    void operator()(const char *why, const std::function<void(Objects &)> &f) {
        add(why, [&] {
            Objects o;
            f(o);
            o.program();
        });
    }
};

}  // namespace

TEST_CASE("definitions") {
    Refused r;
    r("defined twice", [](auto &o) { o.t(o.i) = o.x(o.i), o.t(o.i) = o.x(o.i) * 2.0f; });
    r("defined twice, by a communication", [](auto &o) { o.t(o.i) = o.x(o.i), o.t = all_gather(o.x); });
    r("an output defined twice", [](auto &o) { o.out(o.i) = o.x(o.i), o.out(o.i) = o.x(o.i); });
    r("an input defined", [](auto &o) { o.x(o.i) = 1.0f; });
    r("an InOut defined", [](auto &o) { o.p(o.i) = o.x(o.i); });
    r("used before it is defined", [](auto &o) { o.t(o.i) = o.u(o.i) + 1.0f; });
    r("used in its own definition", [](auto &o) { o.t(o.i) = o.t(o.i) + 1.0f; });
    r("an output read before it is defined", [](auto &o) { o.t(o.i) = o.out(o.i); });
    r("communicated before it is defined", [](auto &o) { o.t = all_reduce(o.u); });
    r("in a whole-tensor operator before it is defined", [](auto &o) { update(o.p, o.x + o.u); });
    r("an output that is not defined", [](auto &o) { update(o.p, o.x); });
    r("the type that was declared", [](auto &o) { o.out(o.i) = cast<double>(o.x(o.i)); });
    r("the number of dimensions that was declared", [](auto &o) { o.out(o.j, o.i) = o.w(o.j, o.i); });
    r("the extents that were declared", [](auto &o) { o.out(o.j) = sum_over(o.i, o.w(o.j, o.i)); });
    r("extents of a tensor that is no argument", [](auto &o) {
        Tensor d{"d", f32, {o.m}};
        d(o.i) = o.x(o.i);
        o.out(o.i) = d(o.i);
    });
    r("a negative extent", [](auto &o) {
        Tensor d{"d", f32, {-3}};
        d(o.i) = 1.0f;
        o.out(o.j) = d(0) + o.x(o.j);
    });
    r("a value that is none", [](auto &o) { o.out(o.i) = Expr(); });
    r("a layout that the definition has not", [](auto &o) {
        Tensor t{"t", f32, {o.n}, sliced(0)};
        t(o.i) = o.x(o.i) + 1.0f;
        o.out(o.i) = t(o.i);
    });
    r("types that no tensor can have", [](auto &o) { o.out(o.i) = cast<float>(Halide::cast(Halide::Int(24), o.x(o.i))); });
    r("an argument of a type that no tensor can have", [](auto &o) {
        Input<Tensor> y{"y", Halide::Float(32, 4), {o.n}};
        Program{"prog", {y, o.out}};
    });
    auto nested = [](Expr e, int times) {
        for (int k = 0; k < times; k++) e = e * 0.5f + 1.0f;
        return e;
    };
    r("operations nested too deeply", [&](auto &o) { o.out(o.i) = nested(o.x(o.i), 6000); });
    r("whole-tensor operators nested too deeply", [](auto &o) {
        Tensor sum = o.x + o.p;
        for (int k = 0; k < 12000; k++) sum = Tensor(sum + o.p);
        update(o.p, sum);
    });
    r.check("lang/recorder_definitions");
}

TEST_CASE("indices") {
    Refused r;
    r("too many indices", [](auto &o) { o.out(o.i) = o.x(o.i, o.j); });
    r("too few indices", [](auto &o) { o.out(o.i) = o.w(o.i); });
    r("none", [](auto &o) { o.out(o.i) = o.x(); });
    r("an index that is a float", [](auto &o) { o.out(o.i) = o.x(o.c); });
    r("a number on the left", [](auto &o) { o.out(3) = 1.0f; });
    r("an expression on the left", [](auto &o) { o.out(o.i + 1) = o.x(o.i); });
    r("one index twice on the left", [](auto &o) { o.t(o.i, o.i) = o.x(o.i); });
    r("an index of the right side alone", [](auto &o) { o.out(o.i) = o.w(o.j, o.i); });
    r("an index of the left side alone", [](auto &o) { o.t(o.i, o.k) = o.x(o.i), o.out(o.i) = o.t(o.i, 0); });
    r("reduced and on the left", [](auto &o) { o.out(o.i) = sum_over(o.i, o.x(o.i)); });
    r("neither reduced nor on the left", [](auto &o) { o.out(o.i) = sum_over(o.j, o.w(o.j, o.k)); });
    r("an index reduced twice, one inside the other",
      [](auto &o) { o.out(o.i) = sum_over(o.j, sum_over(o.j, o.w(o.j, o.i))); });
    r("a reduction over no index", [](auto &o) { o.out(o.i) = sum_over(std::vector<Var>{}, o.x(o.i)); });
    r("a reduction whose index nothing gives an extent", [](auto &o) { o.out(o.i) = o.x(o.i) * sum_over(o.j, 1.0f); });
    r("blocks of an index that is not reduced", [](auto &o) { o.t() = sum_over({o.j, o.i}, o.w(o.j, o.i)).blocks(o.k); });
    r("one index twice in a reduction", [](auto &o) { o.out(o.i) = sum_over({o.j, o.j}, o.w(o.j, o.i)); });
    r("a reduction of no value", [](auto &o) { o.out(o.i) = sum_over(o.j, Expr()); });
    r("an index that is none", [](auto &o) { o.out(o.i) = o.x(Expr()); });
    r.check("lang/recorder_indices");
}

TEST_CASE("names") {
    Refused r;
    r("a tensor's name", [](auto &) { Tensor{"gsum.rs"}; });
    r("an empty name", [](auto &) { Tensor{""}; });
    r("a name that begins with a digit", [](auto &) { Tensor{"2x"}; });
    r("an argument's name", [](auto &o) { Input<Tensor>{"g-1", f32, {o.n}}; });
    r("a scalar argument's name", [](auto &) { Input<float>{"learning rate"}; });
    r("a size's name", [](auto &) { Size{"n m"}; });
    r("a parameter's name", [](auto &) { GeneratorParam<int>{"a=b", 1}; });
    r("two tensors alike", [](auto &o) {
        Tensor t2{"t"};
        o.t(o.i) = o.x(o.i), t2(o.i) = o.t(o.i), o.out(o.i) = t2(o.i);
    });
    r("a tensor and an argument", [](auto &o) {
        Tensor x2{"x"};
        x2(o.i) = o.x(o.i), o.out(o.i) = x2(o.i);
    });
    r("a tensor and a scalar argument", [](auto &o) {
        Tensor c2{"c"};
        c2(o.i) = o.x(o.i), o.out(o.i) = c2(o.i);
    });
    r("a tensor and a size", [](auto &o) {
        Tensor n2{"n"};
        n2(o.i) = o.x(o.i), o.out(o.i) = n2(o.i);
    });
    r("an index that looks like something made", [](auto &o) {
        Var made{"a.b"};
        o.out(made) = o.x(made);
    });
    Objects o;
    Input<Tensor> x2{"x", f32, {o.n}};
    o.out(o.i) = o.x(o.i);
    r.add("two arguments alike", [&] { Program{"prog", {o.x, x2, o.out}}; });
    Input<float> n{"n"};
    r.add("an argument and a size", [&] { Program{"prog", {o.x, n, o.out}}; });
    r.check("lang/recorder_names");
}

TEST_CASE("arguments and updates") {
    Refused r;
    r("updated twice", [](auto &o) { update(o.p, o.x), update(o.p, o.q); });
    r("updated with what is not defined", [](auto &o) { o.out(o.i) = o.x(o.i), update(o.p, o.t); });
    Objects o;
    o.out(o.i) = o.x(o.i) * o.c;
    r.add("a tensor that is read and not listed", [&] { Program{"prog", {o.out, o.c}}; });
    r.add("a scalar that is read and not listed", [&] { Program{"prog", {o.x, o.out}}; });
    r.add("no result", [&] { Program{"prog", {o.x}}; });
    Input<Tensor> thin{"thin", f32, {o.n}, sliced(1)}, none{"none", f32, {}, sliced(0)};
    r.add("sliced on a dimension that is not there", [&] { Program{"prog", {o.x, o.c, o.out, thin}}; });
    r.add("a sliced number", [&] { Program{"prog", {o.x, o.c, o.out, none}}; });
    r.check("lang/recorder_arguments");
}

TEST_CASE("results") {
    Refused r;
    auto output = [&](const char *why, const Layout &from, const Layout &to) {
        r.add(why, [&] {
            Objects o;
            Input<Tensor> y{"y", f32, {o.m, o.n}, from};
            Output<Tensor> z{"z", f32, {o.m, o.n}, to};
            z(o.j, o.i) = y(o.j, o.i) * 2.0f;
            Program{"prog", {y, z}};
        });
    };
    output("partial into replicated", partial(Sum), replicated);
    output("partial into sliced", partial(Sum), sliced(1));
    output("partial into local", partial(Sum), local);
    output("sliced into replicated", sliced(0), replicated);
    output("sliced on another dimension", sliced(0), sliced(1));
    output("replicated into sliced", replicated, sliced(1));
    output("replicated into partial", replicated, partial(Sum));
    output("local into replicated", local, replicated);
    output("local into sliced", local, sliced(0));
    r("update of another type", [](auto &o) { o.out(o.i) = o.x(o.i), update(o.p, cast<double>(o.x)); });
    r("update of other extents", [](auto &o) {
        o.out(o.i) = o.x(o.i);
        o.t(o.j) = sum_over(o.i, o.w(o.j, o.i));
        update(o.p, o.t);
    });
    r.check("lang/recorder_results");
}

TEST_CASE("require, random, functions") {
    Refused r;
    auto require = [&](const char *why, std::function<Expr(Objects &)> condition) {
        r.add(why, [&] {
            Objects o;
            o.out(o.i) = o.x(o.i) * o.c;
            Program p{"prog", {o.x, o.c, o.out}};
            p.require(condition(o), "text of the requirement");
        });
    };
    require("a condition on a tensor", [](auto &o) { return o.x(0) > 0.0f; });
    require("a condition on an index", [](auto &o) { return o.i > 0; });
    require("a condition that is none", [](auto &) { return Expr(); });
    require("no condition", [](auto &o) { return o.c * 2.0f; });
    require("a condition on rank()", [](auto &) { return rank() > 0; });
    require("a condition on a scalar that is no argument", [](auto &) { return Expr(Input<float>{"other"}) > 0.0f; });
    r("a negative stream", [](auto &o) { o.out(o.i) = o.x(o.i) * random(Expr(1), -2); });
    r("random of an index that is not there", [](auto &o) { o.out(o.i) = o.x(o.i) * random(Expr(1), 0, {o.k}); });
    r.check("lang/recorder_require");
}
