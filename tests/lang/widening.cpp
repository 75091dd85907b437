// 16-bit floats are storage: what is computed is f32, and every definition rounds once.
#include "lang/expand.h"
#include "refusals.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Operands {
    Size n{"n"}, m{"m"};
    Var i{"i"}, j{"j"};
    Input<Tensor> h{"h", f16, {n}}, k{"k", f16, {n}}, b{"b", bf16, {n}}, w{"w", f16, {m, n}}, x{"x", f32, {n}};
    Input<Tensor> g{"g", f16, {n}, partial(Sum)};
};

// The value that machines compute for out(i), as text.
std::string machine_value(const Type &type, const std::function<void(Operands &, Output<Tensor> &)> &define) {
    Operands o;
    Output<Tensor> out{"out", type, {o.n}};
    define(o, out);
    Program p{"p", {o.h, o.k, o.b, o.w, o.x, o.g, out}};
    return to_string(p.graph(), p.graph().at(p.graph().results[0].node).value);
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}
int times(const std::string &text, const std::string &part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
    return n;
}

}  // namespace

TEST_CASE("operands are widened, the definition rounds once") {
    std::string v = machine_value(f16, [](auto &o, auto &out) { out(o.i) = o.h(o.i) * o.k(o.i) + o.h(o.i); });
    CHECK_MESSAGE(has(v, "cast<float>(h(i)) * cast<float>(k(i)) + cast<float>(h(i))"), v);
    CHECK_MESSAGE(!has(v, "h(i) *"), v);
    CHECK_MESSAGE(times(v, "cast<float16_t>(") == 1, v);
}

TEST_CASE("a cast to a 16-bit float inside rounds where it is written") {
    std::string v = machine_value(f32, [](auto &o, auto &out) { out(o.i) = cast<float>(cast(bf16, o.x(o.i) * 3.0f)) + 1.0f; });
    CHECK_MESSAGE(has(v, "x(i) * 3.0f"), v);
    CHECK_MESSAGE(times(v, "cast<bfloat16_t>(") == 1, v);
}

TEST_CASE("a double is rounded to 16 bits by way of f32") {
    Input<double> z{"z"};
    std::string text = to_string(Graph{}, round_to(f16, Expr(z)));
    CHECK_MESSAGE(has(text, "cast<float>(z)"), text);
}

TEST_CASE("a copy of a 16-bit float has no arithmetic") {
    CHECK(machine_value(f16, [](auto &o, auto &out) { out(o.i) = o.h(o.i); }) == "h(i)");
}

TEST_CASE("reductions accumulate wide: no addend is rounded") {
    Operands o;
    Output<Tensor> rows{"rows", f16, {o.m}}, all{"all", f16, {}}, total{"total", f16, {o.n}}, wide{"wide", f32, {o.n}};
    rows(o.j) = sum_over(o.i, o.w(o.j, o.i) * o.h(o.i));
    all() = sum_over(o.i, o.h(o.i) * o.k(o.i));
    total = all_reduce(o.g);
    wide = all_reduce(o.g, f32);
    Program p{"p", {o.h, o.k, o.w, o.g, rows, all, total, wide}};
    auto &graph = p.graph();
    auto &sum = graph.at(graph.results[0].node);
    REQUIRE(sum.as<Reduction>());
    CHECK(sum.type == f16);
    CHECK(sum.value.type() == f32);
    CHECK(to_string(graph, sum.value) == "cast<float>(w(j, i)) * cast<float>(h(i))");
    auto *blocks = graph.find("all.blocks");
    REQUIRE(blocks);
    CHECK(blocks->type == f32);
    CHECK(to_string(graph, blocks->value) == "cast<float>(h(i)) * cast<float>(k(i))");
    for (const char *name : {"total", "wide"}) {
        auto *r = graph.find(name);
        REQUIRE(r->reduces_over_ranks());
        CHECK(r->accumulator == f32);
    }
    CHECK(graph.find("total")->type == f16);
    CHECK(graph.find("wide")->type == f32);
    CHECK(to_string(graph, graph.find("wide")->value) == "g(i)");  // 16 bits travel
}

TEST_CASE("a widening cast under an all-reduce stays in the load") {
    Operands o;
    Output<Tensor> total{"total", f32, {o.n}};
    total = all_reduce(cast<float>(o.g));
    Program p{"p", {o.g, total}};
    auto &n = *p.graph().find("total");
    CHECK(to_string(p.graph(), n.value) == "cast<float>(g(i))");
    CHECK(p.graph().nodes.size() == 2);  // no tensor of its own for the cast
}

TEST_CASE("accumulators of other types are the operand's, or the wider result's") {
    Size n{"n"};
    std::vector<std::array<Type, 3>> rows = {{f32, f32, f32}, {f64, f64, f64}, {f32, f64, f64}, {bf16, f16, f32}};
    rows.insert(rows.end(), {{i8, i8, i8}, {i32, i64, i64}, {u8, u8, u8}});
    for (auto &[type, result, accumulator] : rows) {
        Input<Tensor> g{"g", type, {n}, partial(Sum)};
        Output<Tensor> out{"out", result, {n}};
        out = all_reduce(g, result);
        Program p{"p", {g, out}};
        CHECK(p.graph().find("out")->accumulator == accumulator);
    }
}
