// An index that is read from a tensor needs bounds: without them an error names it, with them it works.
#include <doctest/doctest.h>
#include <stretto/stretto.h>

using namespace stretto;

namespace {

struct Gather {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> at{"at", i32, {n}}, v{"v", f32, {n}};
    Output<Tensor> y{"y", f32, {n}};
};

}  // namespace

TEST_CASE("an index without bounds is refused by name") {
    Gather g;
    g.y(g.i) = g.v(g.at(g.i)) + 1.0f;
    Program p("gather", {g.at, g.v, g.y});
    std::string text;
    try {
        compile(p);
    } catch (const Error &e) {
        text = e.what();
    }
    CHECK(text ==
          "In program gather: y reads v(at(i)).\n"
          "  The index at(i) is known only when the program runs, and may be outside of v.\n"
          "Legal: clamp(at(i), 0, cast<int32_t>(n) - 1) in its place");
}

TEST_CASE("what the error calls legal is right") {
    Gather g;
    g.at.range(-3, 2000);
    g.y(g.i) = g.v(clamp(g.at(g.i), 0, cast<int32_t>(g.n) - 1)) + 1.0f;
    Program p("gather", {g.at, g.v, g.y});
    CheckOptions o;
    o.ranks = {1, 2, 3};
    o.sizes = {1, 2, 17};  // of an empty tensor no element can be named
    CheckReport r = check(p, Schedule(p), o);
    CHECK_MESSAGE(r.ok(), to_string(r));
}

// What every rank has is looked up at an index that is sliced or local: the result is as the index.
TEST_CASE("lookups in what every rank has") {
    Size V{"V"}, D{"D"}, T{"T"};
    Var t{"t"}, d{"d"};
    Input<Tensor> w{"w", f32, {V, D}}, idx{"idx", i32, {T}, sliced(0)}, own{"own", i32, {T}, local}, bias{"bias", f32, {V}};
    idx.range(-3, 40), own.range(-3, 40);
    Output<Tensor> rows{"rows", f32, {T, D}, sliced(0)}, of_own{"of_own", f32, {T}, local}, of_rank{"of_rank", f32, {T}, local};
    auto within = [&](const Expr &i) { return clamp(i, 0, cast<int32_t>(V) - 1); };
    rows(t, d) = w(within(idx(t)), d) * 2.0f;  // the embedding of a data-parallel batch
    of_own(t) = bias(within(own(t)));
    of_rank(t) = bias(within(rank())) + cast<float>(t);
    Program p("lookups", {w, idx, own, bias, rows, of_own, of_rank});
    CheckOptions o;
    o.ranks = {1, 2, 3, 5};
    o.sizes = {1, 2, 17};
    CheckReport r = check(p, Schedule(p), o);
    CHECK_MESSAGE(r.ok(), to_string(r));
}
