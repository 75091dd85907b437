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
