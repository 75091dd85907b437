#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

static std::string groups(const Schedule &s) {
    std::string text;
    for (auto &group : groups_of(s.graph())) text += to_string(group) + "\n";
    return text;
}

TEST_CASE("reduce-scatter, computation and all-gather are one sweep") {
    Adam a;
    Schedule s(a.program);
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.m1, a.v1, a.p1});
    s.as_slice(a.m);
    s.as_slice(a.v);
    Group group = s.fuse({rs, a.avg, a.m1, a.v1, a.p1, s.gather_of(a.p1)});
    CHECK(to_string(group) == "Group 0, 1 sweep: {gsum.rs, avg, m1, v1, p1, p1.ag}");
    CHECK(s.graph().find("p1.ag")->directives.group == 0);
}

TEST_CASE("so are an all-reduce and what reads it, on the whole tensor") {
    Adam a;
    Schedule s(a.program);
    CHECK(to_string(s.fuse({a.gsum, a.avg, a.m1, a.v1, a.p1})) == "Group 0, 1 sweep: {gsum, avg, m1, v1, p1}");
}

TEST_CASE("an addend is computed in the load") {
    Lamb l;
    Schedule s(l.program);
    auto [rs, ag] = s.split(l.gsum);
    s.reorder(ag, {l.m1, l.u});
    CHECK(to_string(s.fuse({l.wide, rs, l.m1, l.u})) == "Group 0, 1 sweep: {wide, gsum.rs, m1, u}");
}

TEST_CASE("a full reduction inside makes it two sweeps; its parts come with it") {
    Lamb l;
    Schedule s(l.program);
    auto [rs, ag] = s.split(l.gsum);
    s.reorder(ag, {l.m1, l.u, l.un, l.p1});
    s.slice(l.pn);
    Group group = s.fuse({rs, l.m1, l.u, l.un, l.pn, l.ratio, l.p1, s.gather_of(l.p1)});
    CHECK(group.sweeps == 2);
    CHECK(to_string(group) == "Group 0, 2 sweeps: {gsum.rs, m1, u, un, pn, ratio, p1, p1.ag}");
    int parts = 0;
    for (auto &n : s.graph().nodes)
        if (is_part(s.graph(), n) && n.directives.group == 0) parts++;
    CHECK(parts == 6);  // block results, their gather and the sum, of two norms
}

TEST_CASE("fuse_all: each stage joins its latest producer's Group") {
    Adam a;
    Schedule adam(a.program);
    adam.fuse_all();
    CHECK(groups(adam) == "Group 0, 1 sweep: {gsum, avg, m1, v1, p1}\n");

    Lamb l;
    Schedule lamb(l.program);
    auto ag = lamb.split(l.gsum).ag;
    lamb.reorder(ag, {l.m1, l.u, l.un, l.p1});
    lamb.as_slice(l.m);
    Schedule sliced = lamb;
    std::string text;
    lamb.fuse_all();
    text += lamb.text() + groups(lamb) + "\n";
    sliced.slice(l.pn);
    sliced.fuse_all();
    text += sliced.text() + groups(sliced) + "\n";

    Mixed m;
    Schedule mixed(m.program);
    mixed.fuse_all();
    text += mixed.text() + groups(mixed) + "\n";

    Chain c;
    Schedule chain(c.program);
    auto gs = chain.split(c.gs).ag, hs = chain.split(c.hs).ag;
    chain.reorder(hs, {c.norm, c.p1});
    chain.fuse_all();
    text += chain.text() + groups(chain) + "\n";
    check_golden("schedule/fuse_all", text);
}

TEST_CASE("fuse_all leaves the Groups that are there") {
    Adam a;
    Schedule s(a.program);
    s.fuse({a.m1, a.p1});
    std::vector<Group> made = s.fuse_all();
    CHECK(groups(s) == "Group 0, 1 sweep: {m1, p1}\nGroup 1, 1 sweep: {gsum, avg, v1}\n");
    CHECK(made.size() == 1);
}

TEST_CASE("what fuse refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("an empty set", s, [&](Schedule &s) { s.fuse({}); });
    r.add("a member twice", s, [&](Schedule &s) { s.fuse({a.avg, a.avg}); });
    r.add("an argument", s, [&](Schedule &s) { s.fuse({a.m, a.m1}); });
    r.add("not convex", s, [&](Schedule &s) { s.fuse({a.gsum, a.m1, a.p1}); });
    auto [rs, ag] = s.split(a.gsum);
    r.add("reads the result of an all-gather of the set", s, [&, rs = rs, ag = ag](Schedule &s) { s.fuse({rs, ag, a.avg}); });
    s.reorder(ag, {a.avg});
    r.add("comes back through a gather", s, [&, rs = rs](Schedule &s) { s.fuse({rs, a.avg, a.m1}); });
    s.fuse({rs, a.avg});
    r.add("in a Group already", s, [&](Schedule &s) { s.fuse({a.avg, a.m1}); });

    Mixed m;
    Schedule mixed(m.program);
    r.add("a contraction", mixed, [&](Schedule &s) { s.fuse({m.turned, m.st}); });
    r.add("two extents", mixed, [&](Schedule &s) { s.fuse({m.chosen, m.mixed}); });
    r.add("another element of what is computed inside", mixed, [&](Schedule &s) { s.fuse({m.t, m.mixed, m.st, m.out}); });
    r.add("no dimension beside one", mixed, [&](Schedule &s) { s.fuse({m.sum, m.t}); });
    auto most = mixed.split(m.most).rs;
    r.add("two slice maps", mixed, [&](Schedule &s) { s.fuse({most, m.chosen}); });
    mixed.collective(m.t, TwoPhase);
    r.add("an all-reduce in two phases", mixed, [&](Schedule &s) { s.fuse({m.t, m.mixed}); });

    Chain c;
    Schedule chain(c.program);
    r.add("dependent communications", chain, [&](Schedule &s) { s.fuse({c.gs, c.mixed, c.hs}); });
    chain.fuse({c.gs, c.first});
    r.add("through another Group", chain, [&](Schedule &s) { s.fuse({c.mixed, c.seen}); });

    // The addend is used elsewhere, so it has to be in memory, complete, before others load it.
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, partial(Sum)};
    InOut<Tensor> kept{"kept", f32, {n}, partial(Sum)};
    Output<Tensor> y{"y", f32, {n}};
    Tensor w{"w"};
    w(i) = x(i) * 0.5f + kept(i);
    y = all_reduce(w);
    update(kept, w);
    Program p{"kept", {x, kept, y}};
    Schedule addend(p);
    r.add("an addend that is used elsewhere", addend, [&](Schedule &s) { s.fuse({w, y}); });
    r.check("schedule/fuse_refused");
}

TEST_CASE("later verbs may not break a Group") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    s.fuse({a.gsum, a.avg});
    r.add("two phases", s, [&](Schedule &s) { s.collective(a.gsum, TwoPhase); });
    r.check("schedule/fuse_later");
    s.collective(a.gsum, OneShot);
}

TEST_CASE("Groups that need each other first are refused") {
    // a -> b, c -> d: {a, d} and {b, c} are each legal, and not together.
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> b{"b", f32, {n}}, d{"d", f32, {n}};
    Tensor a{"a"}, c{"c"};
    a(i) = x(i) + 1.0f;
    b(i) = a(i) * 2.0f;
    c(i) = x(i) - 1.0f;
    d(i) = c(i) * 3.0f;
    Program p{"cross", {x, b, d}};
    Schedule s(p);
    s.fuse({a, d});
    Refusals r;
    r.add("a cycle of Groups", s, [&](Schedule &s) { s.fuse({b, c}); });
    r.check("schedule/fuse_cycle");
}
