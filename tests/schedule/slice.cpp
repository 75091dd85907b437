#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("a full reduction that depends on no gather") {
    Lamb l;
    check_golden("schedule/slice_norm", before_and_after(l.program, [&](Schedule &s) { s.slice(l.pn); }));
}

TEST_CASE("an elementwise tensor, then what follows it") {
    Mixed m;
    check_golden("schedule/slice", before_and_after(m.program, [&](Schedule &s) {
                     s.slice(m.st, 1);
                     s.slice(m.mixed, 0);
                     s.reorder(s.gather_of(m.mixed), {m.turned});
                 }));
}

TEST_CASE("what slice refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("an all-reduce", s, [&](Schedule &s) { s.slice(a.gsum); });
    r.add("an argument", s, [&](Schedule &s) { s.slice(a.p); });
    r.add("a dimension that does not exist", s, [&](Schedule &s) { s.slice(a.p1, 1); });
    s.slice(a.avg);
    r.add("twice", s, [&](Schedule &s) { s.slice(a.avg); });
    s.fuse({a.m1, a.v1});
    r.add("in a Group", s, [&](Schedule &s) { s.slice(a.m1); });

    Lamb l;
    Schedule lamb(l.program);
    r.add("no dimension and no full reduction", lamb, [&](Schedule &s) { s.slice(l.ratio); });
    r.add("partial", lamb, [&](Schedule &s) { s.slice(l.wide); });
    r.add("another dimension of a full reduction", lamb, [&](Schedule &s) { s.slice(l.pn, 1); });
    lamb.slice(l.pn);
    r.add("a full reduction twice", lamb, [&](Schedule &s) { s.slice(l.pn); });

    Mixed m;
    Schedule mixed(m.program);
    r.add("a contraction", mixed, [&](Schedule &s) { s.slice(m.turned); });
    r.add("a broadcast", mixed, [&](Schedule &s) { s.slice(m.chosen); });
    r.check("schedule/slice_refused");
}
