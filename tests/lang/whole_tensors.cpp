// Operators on whole tensors are the element-by-element definitions that they stand for.
#include "refusals.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Operands {
    Size m{"m"}, n{"n"};
    Input<Tensor> x{"x", f32, {m, n}}, y{"y", f32, {m, n}}, bias{"bias", f32, {n}}, g{"g", f16, {n}, partial(Sum)};
    Input<float> c{"c"};
};

// What out(i, j) is.
std::string definition(const std::function<Tensor(Operands &)> &value) {
    Operands o;
    InOut<Tensor> out{"out", f32, {o.m, o.n}};
    update(out, value(o));
    Program p{"p", {o.x, o.y, o.bias, o.g, o.c, out}};
    return definition_text(p.graph(), p.graph().at(p.graph().results[0].node));
}

}  // namespace

TEST_CASE("arithmetic, with a scalar on either side") {
    CHECK(definition([](auto &o) { return o.x + o.y; }) == "out.new(i, j) = x(i, j) + y(i, j)");
    CHECK(definition([](auto &o) { return o.x - o.y * o.x; }) == "out.new(i, j) = x(i, j) - y(i, j) * x(i, j)");
    CHECK(definition([](auto &o) { return (o.x - o.y) / o.x; }) == "out.new(i, j) = (x(i, j) - y(i, j)) / x(i, j)");
    CHECK(definition([](auto &o) { return o.x * o.c; }) == "out.new(i, j) = x(i, j) * c");
    CHECK(definition([](auto &o) { return 1.0f - o.x; }) == "out.new(i, j) = 1.0f - x(i, j)");
    CHECK(definition([](auto &o) { return 2.0f / (o.x + 1.0f); }) == "out.new(i, j) = 2.0f / (x(i, j) + 1.0f)");
    CHECK(definition([](auto &o) { return -o.x; }) == "out.new(i, j) = -x(i, j)");
}

TEST_CASE("functions") {
    CHECK(definition([](auto &o) { return sqrt(max(o.x, o.y)); }) == "out.new(i, j) = sqrt(max(x(i, j), y(i, j)))");
    CHECK(definition([](auto &o) { return exp(min(o.x, o.y)); }) == "out.new(i, j) = exp(min(x(i, j), y(i, j)))");
    CHECK(definition([](auto &o) { return cast<float>(cast(f64, o.x)); }) ==
          "out.new(i, j) = cast<float>(cast<double>(x(i, j)))");
}

TEST_CASE("a tensor of fewer dimensions is broadcast from the last one") {
    CHECK(definition([](auto &o) { return o.x + o.bias; }) == "out.new(i, j) = x(i, j) + bias(j)");
    CHECK(definition([](auto &o) { return o.bias * o.x; }) == "out.new(i, j) = bias(j) * x(i, j)");
}

TEST_CASE("a defined tensor's own indices are kept, and unnamed values are written out where they are read") {
    Operands o;
    Var row{"row"}, column{"column"};
    Tensor t{"t"};
    t(row, column) = o.x(row, column) + 1.0f;
    InOut<Tensor> out{"out", f32, {o.m, o.n}};
    update(out, t * o.y);
    Program p{"p", {o.x, o.y, out}};
    CHECK(definition_text(p.graph(), p.graph().nodes.back()) == "out.new(row, column) = t(row, column) * y(row, column)");
    CHECK(p.graph().nodes.size() == 5);  // x, y, out, t, out.new
}

TEST_CASE("communications of unnamed values") {
    Operands o;
    Tensor total{"total"};
    total = all_reduce(cast<float>(o.g) * 0.5f);
    InOut<Tensor> out{"out", f32, {o.n}};
    update(out, total + o.bias);
    Program p{"p", {o.g, o.bias, out}};
    CHECK(definition_text(p.graph(), *p.graph().find("total")) == "total = all_reduce(cast<float>(g(i)) * 0.5f)");
    // Without a name of its own a communication is called after its operand.
    InOut<Tensor> other{"other", f16, {o.n}};
    update(other, all_reduce(o.g));
    Program q{"q", {o.g, other}};
    CHECK(q.graph().find("all_reduce_g"));
}
