// Every row of the inference table that is legal: the layout of an expression, from its operands'.
#include "operands.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Row {
    const char *what;
    Layout layout;
    Value value;
    Type type = f32;
};

void check(const std::vector<Row> &rows) {
    for (auto &row : rows) {
        INFO(row.what);
        try {
            auto define = [&](Operands &o, Output<Tensor> &t) { t(o.i) = row.value(o); };
            Layout is = layout_of(row.type, row.layout, vector_extents, define);
            CHECK_MESSAGE(is == row.layout, to_string(is));
        } catch (const Error &e) { FAIL_CHECK(std::string(e.what())); }
    }
}

void check_matrix(const char *what, const Layout &layout, const Define &define, const Extents &extents) {
    INFO(what);
    try {
        Layout is = layout_of(f32, layout, extents, define);
        CHECK_MESSAGE(is == layout, to_string(is));
    } catch (const Error &e) { FAIL_CHECK(std::string(e.what())); }
}

std::vector<Extent> rows(Operands &o) {
    return {o.m};
}
std::vector<Extent> matrix(Operands &o) {
    return {o.m, o.n};
}
std::vector<Extent> transposed(Operands &o) {
    return {o.n, o.m};
}
std::vector<Extent> scalar(Operands &) {
    return {};
}

}  // namespace

TEST_CASE("replicated operands, or none: replicated") {
    check({{"a constant", replicated, [](auto &) { return Expr(1.0f); }},
           {"a scalar argument", replicated, [](auto &o) { return Expr(o.c); }},
           {"the index itself", replicated, [](auto &o) { return cast<float>(o.i); }},
           {"sizes and ranks()", replicated, [](auto &o) { return cast<float>(Expr(o.n) + ranks()); }},
           {"r * c", replicated, [](auto &o) { return o.r(o.i) * o.c; }},
           {"a neighbour", replicated, [](auto &o) { return o.r(max(o.i - 1, 0)); }},
           {"an element through another tensor", replicated, [](auto &o) { return o.r(clamp(o.ir(o.i), 0, 7)); }}});
}

TEST_CASE("sliced operands by the same bare index, others replicated: sliced on it") {
    check({{"s", sliced(0), [](auto &o) { return Expr(o.s(o.i)); }},
           {"s + s2", sliced(0), [](auto &o) { return o.s(o.i) + o.s2(o.i); }},
           {"s * r + c", sliced(0), [](auto &o) { return o.s(o.i) * o.r(o.i) + o.c; }},
           {"a condition", sliced(0), [](auto &o) { return select(o.s(o.i) > 0.0f, o.r(o.i), 0.0f); }},
           {"the global index", sliced(0), [](auto &o) { return o.s(o.i) * cast<float>(o.i); }},
           {"a replicated tensor elsewhere", sliced(0), [](auto &o) { return o.s(o.i) + o.r(max(o.i - 1, 0)); }},
           {"through functions", sliced(0), [](auto &o) { return exp(sqrt(max(o.s(o.i), 0.0f))); }}});
    check_matrix(
        "a row vector is broadcast over columns that are sliced", sliced(1),
        [](auto &o, auto &t) { t(o.j, o.i) = o.S1(o.j, o.i) + o.r(o.i); }, matrix);
    check_matrix(
        "a sliced row vector over sliced columns", sliced(1),
        [](auto &o, auto &t) { t(o.j, o.i) = o.S1(o.j, o.i) + o.s(o.i); }, matrix);
    check_matrix(
        "a transpose moves the slices", sliced(1), [](auto &o, auto &t) { t(o.i, o.j) = o.S0(o.j, o.i); }, transposed);
}

TEST_CASE("local with replicated or local, and rank(): local") {
    check({{"l + r", local, [](auto &o) { return o.l(o.i) + o.r(o.i); }},
           {"l * l", local, [](auto &o) { return o.l(o.i) * o.l(o.i); }},
           {"rank()", local, [](auto &o) { return o.r(o.i) * cast<float>(rank()); }},
           {"a local index of a local tensor", local, [](auto &o) { return o.l(clamp(o.il(o.i), 0, 7)); }}});
}

TEST_CASE("what is linear keeps a pending sum") {
    Layout sum = partial(Sum);
    check({{"-a", sum, [](auto &o) { return -o.a(o.i); }},
           {"a + b", sum, [](auto &o) { return o.a(o.i) + o.b(o.i); }},
           {"a - b", sum, [](auto &o) { return o.a(o.i) - o.b(o.i); }},
           {"a + 0", sum, [](auto &o) { return o.a(o.i) + 0.0f; }},
           {"0 + a", sum, [](auto &o) { return 0.0f + o.a(o.i); }},
           {"a - 0", sum, [](auto &o) { return o.a(o.i) - 0.0f; }},
           {"a * r", sum, [](auto &o) { return o.a(o.i) * o.r(o.i); }},
           {"c * a", sum, [](auto &o) { return o.c * o.a(o.i); }},
           {"a / r", sum, [](auto &o) { return o.a(o.i) / o.r(o.i); }},
           {"a / ranks()", sum, [](auto &o) { return o.a(o.i) / ranks(); }},
           {"select(r > 0, a, b)", sum, [](auto &o) { return select(o.r(o.i) > 0.0f, o.a(o.i), o.b(o.i)); }},
           {"select(r > 0, a, 0)", sum, [](auto &o) { return select(o.r(o.i) > 0.0f, o.a(o.i), 0.0f); }},
           {"select(r > 0, 0, a)", sum, [](auto &o) { return select(o.r(o.i) > 0.0f, 0.0f, o.a(o.i)); }},
           {"dropout(a)", sum, [](auto &o) { return dropout(o.a(o.i), 0.1f, o.seed); }},
           {"a cast to a wider float", sum, [](auto &o) { return cast<double>(o.a(o.i)); }, f64},
           {"an integer to a narrower one", sum, [](auto &o) { return cast<int16_t>(o.ia(o.i)); }, i16},
           {"an integer to one of the same size", sum, [](auto &o) { return cast<uint32_t>(o.ia(o.i)); }, u32},
           {"integers times integers", sum, [](auto &o) { return o.ia(o.i) * o.ir(o.i) - o.ia(o.i); }, i32},
           {"all together", sum, [](auto &o) { return (o.c * o.a(o.i) - o.b(o.i) / o.r(o.i)) * 2.0f; }}});
}

TEST_CASE("pending maxima, minima and products") {
    check({{"max of two", partial(Max), [](auto &o) { return max(o.hi(o.i), o.hi2(o.i)); }},
           {"max with replicated", partial(Max), [](auto &o) { return max(o.hi(o.i), o.r(o.i)); }},
           {"max with a constant on the left", partial(Max), [](auto &o) { return max(0.0f, o.hi(o.i)); }},
           {"min with replicated", partial(Min), [](auto &o) { return min(o.lo(o.i), o.r(o.i)); }},
           {"select of two maxima", partial(Max), [](auto &o) { return select(o.r(o.i) > 0.0f, o.hi(o.i), o.hi2(o.i)); }},
           {"a cast that preserves values", partial(Max), [](auto &o) { return cast<double>(o.hi(o.i)); }, f64},
           {"-max is a minimum", partial(Min), [](auto &o) { return -o.hi(o.i); }},
           {"-min is a maximum", partial(Max), [](auto &o) { return -o.lo(o.i); }},
           {"a product of products", partial(Prod), [](auto &o) { return o.pr(o.i) * o.pr2(o.i); }}});
}

TEST_CASE("reductions over a sliced index are pending, over another keep the layout") {
    auto sum = [](Input<Tensor> Operands::*t) {
        return [=](Operands &o, Output<Tensor> &out) { out(o.j) = sum_over(o.i, (o.*t)(o.j, o.i)); };
    };
    check_matrix("over the sliced index", partial(Sum), sum(&Operands::S1), rows);
    check_matrix("over another index", sliced(0), sum(&Operands::S0), rows);
    check_matrix("of a replicated tensor", replicated, sum(&Operands::R), rows);
    check_matrix("of a local tensor", local, sum(&Operands::L), rows);
    check_matrix("of a pending sum", partial(Sum), sum(&Operands::A), rows);
    check_matrix(
        "a maximum over the sliced index", partial(Max),
        [](auto &o, auto &t) { t(o.j) = max_over(o.i, o.S1(o.j, o.i)); }, rows);
    check_matrix(
        "a minimum", partial(Min), [](auto &o, auto &t) { t(o.j) = min_over(o.i, o.S1(o.j, o.i)); }, rows);
    check_matrix(
        "a product", partial(Prod), [](auto &o, auto &t) { t(o.j) = prod_over(o.i, o.S1(o.j, o.i)); }, rows);
    check_matrix(
        "a maximum of a pending maximum", partial(Max),
        [](auto &o, auto &t) { t(o.j) = max_over(o.i, o.H(o.j, o.i)); }, rows);
    check_matrix(
        "a contraction of two tensors over their sliced index", partial(Sum),
        [](auto &o, auto &t) { t(o.j) = sum_over(o.i, o.S1(o.j, o.i) * o.s(o.i)); }, rows);
    check_matrix(
        "a product of matrices, sliced rows", sliced(0),
        [](auto &o, auto &t) { t(o.j, o.k) = sum_over(o.i, o.S0(o.j, o.i) * o.R(o.k, o.i)); },
        [](auto &o) { return std::vector<Extent>{o.m, o.m}; });
}

TEST_CASE("reductions over all indices: block results of a sliced operand are exchanged") {
    check_matrix(
        "sum of a replicated tensor", replicated, [](auto &o, auto &t) { t() = sum_over(o.i, o.r(o.i)); }, scalar);
    check_matrix(
        "sum of a sliced tensor", replicated, [](auto &o, auto &t) { t() = sum_over(o.i, o.s(o.i)); }, scalar);
    check_matrix(
        "norm of a sliced tensor", replicated, [](auto &o, auto &t) { t() = norm2(o.i, o.s(o.i)); }, scalar);
    check_matrix(
        "of a matrix in blocks of its sliced index", replicated,
        [](auto &o, auto &t) { t() = sum_over({o.j, o.i}, o.S1(o.j, o.i)).blocks(o.i); }, scalar);
    check_matrix(
        "of a local tensor", local, [](auto &o, auto &t) { t() = sum_over(o.i, o.l(o.i)); }, scalar);
    check_matrix(
        "of a pending sum", partial(Sum), [](auto &o, auto &t) { t() = sum_over(o.i, o.a(o.i)); }, scalar);
}

TEST_CASE("communications") {
    check_matrix(
        "all_reduce", replicated, [](auto &o, auto &t) { t = all_reduce(o.A); }, matrix);
    check_matrix(
        "all_reduce of a maximum", replicated, [](auto &o, auto &t) { t = all_reduce(o.H); }, matrix);
    for (int d = 0; d < 2; d++) {
        check_matrix(
            "reduce_scatter", sliced(d), [=](auto &o, auto &t) { t = reduce_scatter(o.A, d); }, matrix);
        check_matrix(
            "slice_of", sliced(d), [=](auto &o, auto &t) { t = slice_of(o.R, d); }, matrix);
    }
    check_matrix(
        "all_gather of rows", replicated, [](auto &o, auto &t) { t = all_gather(o.S0); }, matrix);
    check_matrix(
        "all_gather of columns", replicated, [](auto &o, auto &t) { t = all_gather(o.S1); }, matrix);
    check_matrix(
        "broadcast", replicated, [](auto &o, auto &t) { t = broadcast(o.L, 0); }, matrix);
    check_matrix(
        "shift", local, [](auto &o, auto &t) { t = shift(o.L, -1, keep); }, matrix);
}

TEST_CASE("a replicated value may become a local output; an InOut takes a value of its own layout") {
    Operands o;
    Output<Tensor> t{"t", f32, {o.n}, local};
    t(o.i) = o.r(o.i) * 2.0f;
    CHECK(o.program(t).graph().results.size() == 1);
    for (const Layout &layout : {replicated, sliced(0), local, partial(Sum)}) {
        Size n{"n"};
        Var i{"i"};
        InOut<Tensor> x{"x", f32, {n}, layout};
        Tensor x1{"x1"};
        x1(i) = x(i) * 2.0f;
        update(x, x1);
        CHECK(Program{"p", {x}}.graph().nodes.back().layout == layout);
    }
}
