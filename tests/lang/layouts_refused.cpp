// Every cell of the inference table that is illegal: the message names the operand, its layout, and what would be legal.
#include "operands.h"

using namespace stretto;
using namespace stretto::test;

namespace {

class Refused : public Refusals {
public:
    void value(const char *why, const Value &value) {
        define(why, [&](Operands &o, Output<Tensor> &t) { t(o.i) = value(o); });
    }
    void define(const char *why, const Define &f, const Extents &extents = vector_extents) {
        add(why, [&] {
            Operands o;
            Output<Tensor> t{"t", f32, extents(o)};
            f(o, t);
            o.program(t);
        });
    }
};

std::vector<Extent> rows(Operands &o) {
    return {o.m};
}
std::vector<Extent> matrix(Operands &o) {
    return {o.m, o.n};
}
std::vector<Extent> scalar(Operands &) {
    return {};
}

}  // namespace

TEST_CASE("slices") {
    Refused r;
    r.value("a neighbour in a sliced dimension", [](auto &o) { return o.s(max(o.i - 1, 0)); });
    r.value("one element of a sliced dimension", [](auto &o) { return o.r(o.i) * o.s(0); });
    r.value("an element chosen by another tensor", [](auto &o) { return Expr(o.s(o.ir(o.i))); });
    r.value("a sliced index of a local tensor", [](auto &o) { return Expr(o.l(o.is(o.i))); });
    r.value("a sliced index of a pending sum", [](auto &o) { return Expr(o.a(o.is(o.i))); });
    r.define(
        "two indices sliced over one axis", [](auto &o, auto &t) { t(o.j, o.i) = o.other(o.j) * o.s(o.i); }, matrix);
    r.define(
        "two indices of one matrix product", [](auto &o, auto &t) { t(o.j, o.i) = o.S0(o.j, o.i) * o.S1(o.j, o.i); }, matrix);
    r.value("one index for two extents", [](auto &o) { return o.s(o.i) + o.other(o.i); });
    r.define(
        "a full reduction in blocks of an index that is not the sliced one",
        [](auto &o, auto &t) { t() = sum_over({o.j, o.i}, o.S1(o.j, o.i)); }, scalar);
    r.check("lang/refused_slices");
}

TEST_CASE("local values") {
    Refused r;
    r.value("local with sliced", [](auto &o) { return o.l(o.i) + o.s(o.i); });
    r.value("sliced with local", [](auto &o) { return o.s(o.i) * o.l(o.i); });
    r.value("rank() with sliced", [](auto &o) { return o.s(o.i) * cast<float>(rank()); });
    r.value("local with a pending sum", [](auto &o) { return o.a(o.i) + o.l(o.i); });
    r.value("a pending sum times local", [](auto &o) { return o.a(o.i) * o.l(o.i); });
    r.value("a pending sum divided by local", [](auto &o) { return o.a(o.i) / o.l(o.i); });
    r.value("a local condition of a pending sum", [](auto &o) { return select(o.l(o.i) > 0.0f, o.a(o.i), 0.0f); });
    r.value("a local rate of dropout of a pending sum", [](auto &o) { return dropout(o.a(o.i), o.l(o.i), o.seed); });
    r.value("a local index of a pending sum", [](auto &o) { return Expr(o.a(o.il(o.i))); });
    r.value("rank() as an index of a pending sum", [](auto &o) { return o.r(o.i) + o.a(rank()); });
    r.check("lang/refused_local");
}

TEST_CASE("pending sums: what is not linear") {
    Refused r;
    r.value("a + replicated", [](auto &o) { return o.a(o.i) + o.r(o.i); });
    r.value("a + 1", [](auto &o) { return o.a(o.i) + 1.0f; });
    r.value("1 - a", [](auto &o) { return 1.0f - o.a(o.i); });
    r.value("a + sliced", [](auto &o) { return o.a(o.i) + o.s(o.i); });
    r.value("a * sliced", [](auto &o) { return o.a(o.i) * o.s(o.i); });
    r.value("sliced / a", [](auto &o) { return o.s(o.i) / o.a(o.i); });
    r.value("a * b", [](auto &o) { return o.a(o.i) * o.b(o.i); });
    r.value("a * a", [](auto &o) { return o.a(o.i) * o.a(o.i); });
    r.value("a as a divisor", [](auto &o) { return o.r(o.i) / o.a(o.i); });
    r.value("a / sliced", [](auto &o) { return o.a(o.i) / o.s(o.i); });
    r.value("integer division", [](auto &o) { return cast<float>(o.ia(o.i) / 2); });
    r.value("a remainder", [](auto &o) { return cast<float>(o.ia(o.i) % 2); });
    r.value("sqrt", [](auto &o) { return sqrt(o.a(o.i)); });
    r.value("exp", [](auto &o) { return exp(o.a(o.i)); });
    r.value("abs", [](auto &o) { return abs(o.a(o.i)); });
    r.value("pow", [](auto &o) { return pow(o.r(o.i), o.a(o.i)); });
    r.value("max", [](auto &o) { return max(o.a(o.i), 0.0f); });
    r.value("clamp", [](auto &o) { return clamp(o.a(o.i), -1.0f, 1.0f); });
    r.value("a comparison", [](auto &o) { return select(o.a(o.i) > 0.0f, o.r(o.i), 0.0f); });
    r.value("select with another constant than 0", [](auto &o) { return select(o.r(o.i) > 0.0f, o.a(o.i), 1.0f); });
    r.value("select with a replicated arm", [](auto &o) { return select(o.r(o.i) > 0.0f, o.r(o.i), o.a(o.i)); });
    r.value("select with a sliced condition", [](auto &o) { return select(o.s(o.i) > 0.0f, o.a(o.i), 0.0f); });
    r.value("a narrower float", [](auto &o) { return cast<float>(cast(f16, o.a(o.i))); });
    r.value("float to integer", [](auto &o) { return cast<float>(cast<int>(o.a(o.i))); });
    r.value("integer to float", [](auto &o) { return cast<float>(o.ia(o.i)); });
    r.value("integer to a wider one", [](auto &o) { return cast<float>(cast<int64_t>(o.ia(o.i))); });
    r.value("an index", [](auto &o) { return Expr(o.r(o.ia(o.i))); });
    r.define(
        "a maximum of sums", [](auto &o, auto &t) { t(o.j) = max_over(o.i, o.A(o.j, o.i)); }, rows);
    r.define(
        "a norm of sums", [](auto &o, auto &t) { t(o.j) = norm2(o.i, o.A(o.j, o.i)); }, rows);
    r.define(
        "the root of a pending sum", [](auto &o, auto &t) { t(o.j) = norm2(o.i, o.S1(o.j, o.i)); }, rows);
    r.check("lang/refused_sums");
}

TEST_CASE("pending maxima, minima and products") {
    Refused r;
    r.value("a sum of maxima", [](auto &o) { return o.hi(o.i) + o.hi2(o.i); });
    r.value("a scaled maximum", [](auto &o) { return o.hi(o.i) * 2.0f; });
    r.value("a maximum plus a value", [](auto &o) { return o.hi(o.i) + o.r(o.i); });
    r.value("min of a maximum", [](auto &o) { return min(o.hi(o.i), o.r(o.i)); });
    r.value("max of a maximum and a minimum", [](auto &o) { return max(o.hi(o.i), o.lo(o.i)); });
    r.value("max of a maximum and a sum", [](auto &o) { return max(o.hi(o.i), o.a(o.i)); });
    r.value("a maximum or 0", [](auto &o) { return select(o.r(o.i) > 0.0f, o.hi(o.i), 0.0f); });
    r.value("a maximum or a minimum", [](auto &o) { return select(o.r(o.i) > 0.0f, o.hi(o.i), o.lo(o.i)); });
    r.value("a maximum, narrowed", [](auto &o) { return cast<float>(cast(f16, o.hi(o.i))); });
    r.value("a product, scaled", [](auto &o) { return o.pr(o.i) * o.r(o.i); });
    r.value("a product, negated", [](auto &o) { return -o.pr(o.i); });
    r.value("a sum of products", [](auto &o) { return o.pr(o.i) + o.pr2(o.i); });
    r.value("a product times a sum", [](auto &o) { return o.pr(o.i) * o.a(o.i); });
    r.define(
        "a sum of maxima over an index", [](auto &o, auto &t) { t(o.j) = sum_over(o.i, o.H(o.j, o.i)); }, rows);
    r.check("lang/refused_extrema");
}

TEST_CASE("communications of the wrong operand") {
    Refused r;
    auto comm = [&](const char *why, std::function<Comm(Operands &)> f) {
        r.define(
            why, [&](Operands &o, Output<Tensor> &t) { t = f(o); }, matrix);
    };
    comm("all_reduce of replicated", [](auto &o) { return all_reduce(o.R); });
    comm("all_reduce of sliced", [](auto &o) { return all_reduce(o.S0); });
    comm("all_reduce of local", [](auto &o) { return all_reduce(o.L); });
    comm("reduce_scatter of replicated", [](auto &o) { return reduce_scatter(o.R, 0); });
    comm("reduce_scatter of sliced", [](auto &o) { return reduce_scatter(o.S1, 1); });
    comm("reduce_scatter on a dimension that is not there", [](auto &o) { return reduce_scatter(o.A, 2); });
    comm("reduce_scatter on dimension -1", [](auto &o) { return reduce_scatter(o.A, -1); });
    comm("all_gather of replicated", [](auto &o) { return all_gather(o.R); });
    comm("all_gather of partial", [](auto &o) { return all_gather(o.A); });
    comm("all_gather of local", [](auto &o) { return all_gather(o.L); });
    comm("broadcast of replicated", [](auto &o) { return broadcast(o.R, 0); });
    comm("broadcast of sliced", [](auto &o) { return broadcast(o.S0, 0); });
    comm("broadcast of partial", [](auto &o) { return broadcast(o.A, 0); });
    comm("shift of replicated", [](auto &o) { return shift(o.R, 1); });
    comm("shift of sliced", [](auto &o) { return shift(o.S0, -1, keep); });
    comm("shift of partial", [](auto &o) { return shift(o.A, 1, fill(o.c)); });
    comm("a shift's fill with an index", [](auto &o) { return shift(o.L, 1, fill(o.r(o.i))); });
    comm("broadcast from rank -1", [](auto &o) { return broadcast(o.L, -1); });
    comm("slice_of partial", [](auto &o) { return slice_of(o.A, 0); });
    comm("slice_of local", [](auto &o) { return slice_of(o.L, 0); });
    comm("slice_of another dimension than the sliced one", [](auto &o) { return slice_of(o.S0, 1); });
    comm("slice_of a dimension that is not there", [](auto &o) { return slice_of(o.R, 2); });
    comm("a result of another kind of type", [](auto &o) { return all_reduce(o.A, i32); });
    comm("a signed sum as unsigned", [](auto &o) { return all_reduce(o.ia, u32); });
    comm("bool", [](auto &o) { return all_reduce(o.ia, Halide::Bool()); });
    r.check("lang/refused_communications");
}
