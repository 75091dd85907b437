#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("the algorithm is a directive of the all-reduce") {
    Adam a;
    Schedule s(a.program);
    CHECK(s.graph().find("gsum")->as<Communication>()->algorithm == Algorithm::Auto);
    s.collective(a.gsum, TwoPhase);
    CHECK(s.graph().find("gsum")->as<Communication>()->algorithm == Algorithm::TwoPhase);
    s.collective(a.gsum, OneShot);
    CHECK(s.graph().find("gsum")->as<Communication>()->algorithm == Algorithm::OneShot);
    CHECK(s.text() == "collective(gsum, TwoPhase)\ncollective(gsum, OneShot)\n");
}

TEST_CASE("Auto takes a choice back, and has a text") {
    Adam a;
    Schedule s(a.program);
    s.collective(a.gsum, TwoPhase);
    s.collective(a.gsum, Algorithm::Auto);
    s.split(a.gsum);
    CHECK(s.text() == "collective(gsum, TwoPhase)\ncollective(gsum, Auto)\ngsum.rs, gsum.ag = split(gsum, 0)\n");
    CHECK(s.cpp() == "s.collective(gsum, TwoPhase);\ns.collective(gsum, Auto);\nauto [gsum_rs, gsum_ag] = s.split(gsum, 0);\n");
    CHECK(Schedule::parse(a.program, s.text()).text() == s.text());
}

TEST_CASE("two phases are no Group, not even alone") {
    Adam a;
    Schedule s(a.program);
    s.collective(a.gsum, TwoPhase);
    CHECK_THROWS_WITH(s.fuse({a.gsum}), doctest::Contains("the algorithm TwoPhase, which is two sweeps by itself"));
}

TEST_CASE("what collective refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("not an all-reduce", s, [&](Schedule &s) { s.collective(a.avg, OneShot); });
    s.split(a.gsum);
    r.add("split already", s, [&](Schedule &s) { s.collective(a.gsum, TwoPhase); });
    Mixed m;
    Schedule mixed(m.program);
    r.add("two phases without a dimension", mixed, [&](Schedule &s) { s.collective(m.sum, TwoPhase); });
    r.add("a broadcast", mixed, [&](Schedule &s) { s.collective(m.chosen, OneShot); });
    r.check("schedule/collective_refused");
}
