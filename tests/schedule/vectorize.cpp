#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("the lanes are a directive of the node, and a split keeps them") {
    Adam a;
    Schedule s(a.program);
    s.vectorize(a.p1, 8);
    s.vectorize(a.gsum, 16);
    s.vectorize(a.p1, 1);
    s.split(a.gsum);
    CHECK(s.graph().find("p1")->directives.vectorize == 1);
    CHECK(s.graph().find("gsum.rs")->directives.vectorize == 16);
}

TEST_CASE("one stage has one number of lanes") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    s.vectorize(a.p1, 8);
    r.add("another number in one stage", s, [&](Schedule &s) { s.vectorize(a.m1, 16); });
    s.vectorize(a.m1, 8);
    s.vectorize(a.gsum, 16);
    r.add("a Group that brings two numbers together", s, [&](Schedule &s) { s.fuse({a.gsum, a.avg, a.m1, a.v1, a.p1}); });
    s.fuse_all();
    CHECK(s.text() ==
          "vectorize(p1, 8)\nvectorize(m1, 8)\nvectorize(gsum, 16)\n"
          "fuse_all()  # Group 0, 1 sweep: {gsum, avg, v1}; Group 1, 1 sweep: {m1, p1}\n");
    r.check("schedule/vectorize_stage");

    Lamb l;  // the addend is computed in the stage of its reduction
    Schedule lamb(l.program);
    lamb.vectorize(l.wide, 8);
    CHECK_THROWS_WITH(lamb.vectorize(l.gsum, 16), doctest::Contains("would share a stage"));
    lamb.vectorize(l.gsum, 8);
}

TEST_CASE("what vectorize refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("not a power of two", s, [&](Schedule &s) { s.vectorize(a.p1, 6); });
    r.add("no lanes", s, [&](Schedule &s) { s.vectorize(a.p1, 0); });
    r.add("too many", s, [&](Schedule &s) { s.vectorize(a.p1, 128); });
    r.add("an argument", s, [&](Schedule &s) { s.vectorize(a.p, 8); });
    auto [rs, ag] = s.split(a.gsum);
    r.add("a gather", s, [&, ag = ag](Schedule &s) { s.vectorize(ag, 8); });
    Lamb l;
    Schedule lamb(l.program);
    r.add("a full reduction", lamb, [&](Schedule &s) { s.vectorize(l.un, 8); });
    r.add("no dimension", lamb, [&](Schedule &s) { s.vectorize(l.ratio, 8); });
    r.check("schedule/vectorize_refused");
}
