#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("computations move before an all-gather, results are gathered") {
    Adam a;
    check_golden("schedule/reorder", before_and_after(a.program, [&](Schedule &s) {
                     auto [rs, ag] = s.split(a.gsum);
                     s.reorder(ag, {a.avg, a.m1, a.v1, a.p1});
                 }));
}

TEST_CASE("a part of them: the gather stays for the rest") {
    Adam a;
    check_golden("schedule/reorder_part", before_and_after(a.program, [&](Schedule &s) {
                     auto [rs, ag] = s.split(a.gsum);
                     s.reorder(ag, {a.avg, a.v1});
                 }));
}

TEST_CASE("a member may read whole tensors too") {
    Adam a;
    Schedule s(a.program);
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.m1, a.p1});
    CHECK(s.graph().find("p1")->layout.is_sliced());
    CHECK(s.graph().find("v1")->layout.is_replicated());
    CHECK(s.graph().find("v1.ag") == nullptr);
}

TEST_CASE("step by step is the same as at once") {
    Adam a;
    Schedule steps(a.program), once(a.program);
    auto [rs, ag] = steps.split(a.gsum);
    steps.reorder(ag, {a.avg});
    steps.reorder(steps.gather_of(a.avg), {a.m1, a.v1});
    CHECK(steps.graph().find("avg.ag") == nullptr);
    once.split(a.gsum);
    once.reorder(ag, {a.avg, a.m1, a.v1});
    // Up to the order of the gathers.
    for (auto &n : once.graph().nodes) {
        REQUIRE(steps.graph().find(n.name));
        CHECK(to_string(steps.graph(), *steps.graph().find(n.name)) == to_string(once.graph(), n));
    }
    CHECK(steps.graph().nodes.size() == once.graph().nodes.size());
}

TEST_CASE("a full reduction: its block results are gathered, what has no dimension stays replicated") {
    Lamb l;
    check_golden("schedule/reorder_norm", before_and_after(l.program, [&](Schedule &s) {
                     auto [rs, ag] = s.split(l.gsum);
                     s.reorder(ag, {l.m1, l.u, l.un, l.ratio, l.p1});
                 }));
}

TEST_CASE("a contraction whose free index is sliced, and the second dimension") {
    Mixed m;
    check_golden("schedule/reorder_contraction", before_and_after(m.program, [&](Schedule &s) {
                     auto [rs, ag] = s.split(m.t, 0);
                     s.reorder(ag, {m.mixed, m.turned, m.st});
                 }));
    RowParallel r;
    check_golden("schedule/reorder_dimension", before_and_after(r.program, [&](Schedule &s) {
                     auto [rs, ag] = s.split(r.total, 1);
                     s.reorder(ag, {r.out});
                 }));
}

TEST_CASE("a gather that the program wrote") {
    Mixed m;
    check_golden("schedule/reorder_written", before_and_after(m.program, [&](Schedule &s) { s.reorder(m.whole, {m.mixed}); }));
}

TEST_CASE("a contraction inside of an expression comes with it") {
    Size n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> x{"x", f32, {n, 4}, partial(Sum)}, w{"w", f32, {4, 4}};
    Output<Tensor> out{"out", f32, {n, 4}};
    Tensor t{"t"};
    t = all_reduce(x);
    out(i, j) = max(sum_over(k, t(i, k) * w(k, j)), 0.0f);
    Program p{"layer", {x, w, out}};
    check_golden("schedule/reorder_inside", before_and_after(p, [&](Schedule &s) {
                     auto [rs, ag] = s.split(t);
                     s.reorder(ag, {out});
                 }));
}

TEST_CASE("what reorder refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("not an all-gather", s, [&](Schedule &s) { s.reorder(a.avg, {a.p1}); });
    r.add("an all-reduce that is whole", s, [&](Schedule &s) { s.reorder(a.gsum, {a.avg}); });
    auto [rs, ag] = s.split(a.gsum);
    r.add("a set that is not closed", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {a.p1}); });
    r.add("an empty set", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {}); });
    r.add("a member twice", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {a.avg, a.avg}); });
    r.add("an argument", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {a.avg, a.m}); });
    r.add("a communication", s, [&, ag = ag, rs = rs](Schedule &s) { s.reorder(ag, {rs}); });
    s.reorder(ag, {a.avg});
    r.add("not replicated any more", s, [&, ag = ag](Schedule &s) { s.reorder(s.gather_of(a.avg), {a.avg, a.m1}); });
    r.add("a gather that is gone", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {a.m1}); });
    s.fuse({rs, a.avg, s.gather_of(a.avg)});
    r.add("a gather in a Group", s, [&](Schedule &s) { s.reorder(s.gather_of(a.avg), {a.m1}); });
    Schedule grouped(a.program);
    auto gather = grouped.split(a.gsum).ag;
    grouped.fuse({a.avg, a.m1});
    r.add("a member in a Group", grouped, [&](Schedule &s) { s.reorder(gather, {a.avg, a.m1}); });

    Lamb l;
    Schedule lamb(l.program);
    auto lag = lamb.split(l.gsum).ag;
    r.add("does not depend on the gather", lamb, [&](Schedule &s) { s.reorder(lag, {l.m1, l.pn}); });
    r.add("no dimension, and what it reads is not in the set", lamb,
          [&](Schedule &s) { s.reorder(lag, {l.m1, l.u, l.ratio}); });

    Mixed m;
    Schedule mixed(m.program);
    r.add("a broadcast", mixed, [&](Schedule &s) { s.reorder(m.chosen, {m.mixed}); });
    auto tag = mixed.split(m.t, 0).ag;
    r.add("a contraction over the sliced index", mixed, [&](Schedule &s) { s.reorder(tag, {m.mixed, m.columns}); });
    Schedule columns(m.program);
    auto cag = columns.split(m.t, 1).ag;
    r.add("not a bare index", columns, [&](Schedule &s) { s.reorder(cag, {m.mixed, m.out}); });
    Size k{"k"};
    Var row{"row"}, column{"column"};
    Input<Tensor> square{"square", f32, {k, k}, partial(Sum)};
    Output<Tensor> both{"both", f32, {k, k}};
    Tensor sum{"sum"};
    sum = all_reduce(square);
    both(row, column) = sum(row, column) + sum(column, row);
    Program symmetric{"symmetric", {square, both}};
    Schedule indices(symmetric);
    auto sag = indices.split(sum).ag;
    r.add("two indices over one axis", indices, [&](Schedule &s) { s.reorder(sag, {both}); });

    // The norm is whole, so what reads nothing else is not a slice.
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, partial(Sum)}, q{"q", f32, {n}};
    Output<Tensor> y{"y", f32, {n}};
    Tensor t{"t"}, norm{"norm"};
    t = all_reduce(x);
    norm() = norm2(i, t(i));
    y(i) = q(i) / norm();
    Program p{"scaled", {x, q, y}};
    Schedule scaled(p);
    auto xag = scaled.split(t).ag;
    r.add("reads only what stays whole", scaled, [&](Schedule &s) { s.reorder(xag, {norm, y}); });
    r.check("schedule/reorder_refused");
}
