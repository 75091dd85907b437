// What the tensors that verbs take and give mean.
#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("after a split, t means its all-gather; after a reorder, the slice") {
    Adam a;
    Schedule s(a.program);
    s.split(a.gsum);
    s.reorder(a.gsum, {a.avg, a.m1, a.v1, a.p1});
    CHECK(s.graph().find("p1")->layout.is_sliced());
    CHECK(s.gather_of(a.p1).name() == "p1.ag");
    CHECK(s.graph().find("gsum.ag") == nullptr);
}

TEST_CASE("what a verb gave back is forwarded, in every schedule of the program") {
    Adam a;
    Schedule s(a.program), t(a.program);
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg});
    Tensor gather = s.gather_of(a.avg);
    t.split(a.gsum);
    t.reorder(ag, {a.avg, a.m1});
    t.reorder(gather, {a.v1});
    t.vectorize(rs, 8);
    CHECK(t.text() ==
          "gsum.rs, gsum.ag = split(gsum, 0)\nreorder(gsum.ag, {avg, m1})\nreorder(avg.ag, {v1})\nvectorize(gsum.rs, 8)\n");
    Adam other;
    Schedule u(other.program);
    u.split(other.gsum);
    CHECK_THROWS_WITH(u.reorder(ag, {other.avg}), doctest::Contains("adam has no tensor gsum.ag"));
    CHECK(s.is_of(a.program));
    CHECK_FALSE(s.is_of(other.program));
}

TEST_CASE("a name that looks like another's handle is nothing special") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, partial(Sum)}, q{"q", f32, {n}};
    Output<Tensor> t{"t", f32, {n}}, t_ag{"t_ag", f32, {n}};
    t = all_reduce(x);
    t_ag(i) = t(i) + q(i);
    Program p{"names", {x, q, t, t_ag}};
    Schedule s(p);
    auto [rs, ag] = s.split(t);
    s.reorder(ag, {t_ag});
    CHECK(s.gather_of(t_ag).name() == "t_ag.ag");
}

TEST_CASE("a schedule is a value") {
    Adam a;
    Schedule s(a.program);
    s.split(a.gsum);
    Schedule t = s;
    t.reorder(a.gsum, {a.avg});
    CHECK(s.text() == "gsum.rs, gsum.ag = split(gsum, 0)\n");
    CHECK(s.graph().find("avg")->layout.is_replicated());
    CHECK(t.graph().find("avg")->layout.is_sliced());
    CHECK(to_string(a.program.graph()) == to_string(Schedule(a.program).graph()));
}

TEST_CASE("tensors that are not there") {
    Refusals r;
    Adam a, other;
    Schedule s(a.program);
    Var i{"i"};
    Tensor unused{"unused"}, undefined{"avgg"};
    unused(i) = a.p(i) * 2.0f;
    r.add("defined, but no result needs it", s, [&](Schedule &s) { s.slice(unused); });
    r.add("not defined", s, [&](Schedule &s) { s.slice(undefined); });
    r.add("of another program, with the same name", s, [&](Schedule &s) { s.split(other.gsum); });
    r.add("of another program, as an argument", s, [&](Schedule &s) { s.as_slice(other.m); });
    r.add("a gather that is not there yet", s, [&](Schedule &s) { s.gather_of(a.p1); });
    r.add("a new value that has a name", s, [&](Schedule &s) { s.new_value_of(a.p); });
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.m1, a.v1, a.p1});
    r.add("a gather that is gone", s, [&, ag = ag](Schedule &s) { s.reorder(ag, {a.avg}); });
    r.add("the tensor whose gather is gone", s, [&](Schedule &s) { s.split(a.gsum); });
    r.add("a gather that was not needed", s, [&](Schedule &s) { s.gather_of(a.avg); });
    r.check("schedule/handles_refused");
}
