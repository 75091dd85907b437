// Reductions inside of definitions: verbs on the tensor that the user wrote.
#include <doctest/doctest.h>
#include "tests/schedule/programs.h"
#include "tests/schedule/same_bits.h"

using namespace stretto;
using namespace stretto::test;

// LAMB, its ratio in one line.
struct OneLine {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Output<Tensor> trust{"trust", f32, {}};
    Tensor gsum{"gsum"}, q{"q"}, p1{"p1"};
    Program program = define();

    Program define() {
        gsum = all_reduce(g);
        q(i) = gsum(i) + 0.01f * p(i);
        trust() = norm2(i, q(i)) / norm2(i, gsum(i));
        p1(i) = p(i) - trust() * q(i);
        update(p, p1);
        return Program("one_line", {g, p, trust});
    }
};

// One norm depends on the gather, one does not; one is used twice.
struct TwoNorms {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, p{"p", f32, {n}};
    Output<Tensor> t{"t", f32, {}}, y{"y", f32, {n}};
    Tensor gs{"gs"};
    Program program = define();

    Program define() {
        gs = all_reduce(g);
        Expr of_gradient = norm2(i, gs(i));
        t() = of_gradient + norm2(i, p(i)) + of_gradient;
        y(i) = gs(i) / (t() + 1.0f);
        return Program("two_norms", {g, p, t, y});
    }
};

static void check_bits(const Program &p, const Schedule &s) {
    for (int ranks : rank_counts)
        for (int64_t n : lengths(ranks)) CHECK(difference(p, s, sizes_of(p, n), ranks) == "");
}

static int count(const Graph &g, const std::function<bool(const Node &)> &f) { return int(nodes_where(g, f).size()); }
static bool is_exchange(const Node &n) { return n.stores_to_ranks() && n.domain[0].extent.kind == Dim::Ranks; }

TEST_CASE("two norms in one definition: reorder") {
    OneLine l;
    Schedule s(l.program);
    auto [rs, ag] = s.split(l.gsum);
    s.reorder(ag, {l.q, l.trust, l.p1});
    CHECK(count(s.graph(), is_exchange) == 2);
    CHECK(Schedule::parse(l.program, s.text()).text() == s.text());
    check_bits(l.program, s);
}

TEST_CASE("two norms in one definition: slice") {
    OneLine l;
    Schedule s(l.program);
    s.slice(l.trust);
    CHECK(count(s.graph(), is_exchange) == 2);
    check_bits(l.program, s);
}

TEST_CASE("one of them does not depend on the gather: it stays, and can be sliced later") {
    TwoNorms l;
    Schedule s(l.program);
    CHECK(count(s.graph(), [](const Node &n) { return n.as<Blocks>() != nullptr; }) == 2);
    auto [rs, ag] = s.split(l.gs);
    s.reorder(ag, {l.t, l.y});
    CHECK(count(s.graph(), is_exchange) == 1);
    check_bits(l.program, s);
    s.slice(l.t);
    CHECK(count(s.graph(), is_exchange) == 2);
    check_bits(l.program, s);
    CHECK_THROWS_WITH(s.slice(l.t), doctest::Contains("The block results of t are computed on slices already."));
}
