// Schedules as text and as C++, and back.
#include "tests/random/random_schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("one verb a line, in both forms") {
    Lamb l;
    Schedule s(l.program);
    auto [rs, ag] = s.split(l.gsum);
    s.reorder(ag, {l.m1, l.u, l.un, l.p1});
    s.as_slice(l.m);
    s.slice(l.pn);
    s.vectorize(l.p1, 16);
    Schedule all = s;
    s.fuse({l.wide, rs, l.m1, l.u, l.un});
    s.fuse({l.pn, l.ratio, l.p1, s.gather_of(l.p1)});
    all.fuse_all();
    Schedule whole(l.program);
    whole.collective(l.gsum, TwoPhase);
    std::string text;
    for (auto &x : {s, all, whole}) text += x.text() + "\n" + x.cpp() + "\n";
    check_golden("schedule/text", text);
}

TEST_CASE("a new value without a name has one in both forms") {
    Size n{"n"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Tensor gsum{"gsum"};
    gsum = all_reduce(g);
    update(p, p - gsum * 0.1f);
    Program sgd{"sgd", {g, p}};
    Schedule s(sgd);
    auto [rs, ag] = s.split(gsum);
    s.reorder(ag, {s.new_value_of(p)});
    s.fuse({rs, s.new_value_of(p), s.gather_of(s.new_value_of(p))});
    CHECK(s.text() ==
          "gsum.rs, gsum.ag = split(gsum, 0)\n"
          "reorder(gsum.ag, {p.new})\n"
          "fuse({gsum.rs, p.new, p.new.ag})  # Group 0, 1 sweep\n");
    CHECK(s.cpp() ==
          "auto [gsum_rs, gsum_ag] = s.split(gsum, 0);\n"
          "s.reorder(gsum_ag, {s.new_value_of(p)});\n"
          "s.fuse({gsum_rs, s.new_value_of(p), s.gather_of(s.new_value_of(p))});\n");
    CHECK(Schedule::parse(sgd, s.text()).text() == s.text());
}

TEST_CASE("what is written by hand: comments, spaces, defaults, no left side") {
    Adam a;
    Schedule s = Schedule::parse(a.program,
                                 "# on slices\n\n  split ( gsum )# here\r\n"
                                 "reorder(gsum, { avg,m1 , v1,p1})\n\tas_slice(m)");
    CHECK(s.text() == "gsum.rs, gsum.ag = split(gsum, 0)\nreorder(gsum.ag, {avg, m1, v1, p1})\nas_slice(m)\n");
    CHECK(Schedule::parse(a.program, "").text() == "");
}

template <class P>
static void round_trips(uint64_t seed) {
    P p;
    Schedule s = random_schedule(p.program, seed, 16);
    INFO(s.text());
    Schedule back = Schedule::parse(p.program, s.text());
    CHECK(back.text() == s.text());
    CHECK(back.cpp() == s.cpp());
    CHECK(to_string(back.graph()) == to_string(s.graph()));
    for (size_t i = 0; i < s.graph().nodes.size(); i++) {
        CHECK(back.graph().nodes[i].directives.group == s.graph().nodes[i].directives.group);
        CHECK(back.graph().nodes[i].directives.vectorize == s.graph().nodes[i].directives.vectorize);
    }
}

TEST_CASE("random schedules come back from their text") {
    for (uint64_t seed = 0; seed < 8; seed++) {
        round_trips<Adam>(seed);
        round_trips<Lamb>(seed);
        round_trips<Mixed>(seed);
        round_trips<Chain>(seed);
        round_trips<RowParallel>(seed);
    }
}
