// Scheduled graphs give the bits of the unscheduled program, for every number of ranks and length.
#include <doctest/doctest.h>
#include "tests/schedule/programs.h"
#include "tests/schedule/same_bits.h"

using namespace stretto;
using namespace stretto::test;

static void check_bits(const Program &p, const std::function<void(Schedule &)> &verbs) {
    Schedule s(p);
    verbs(s);
    for (int ranks : rank_counts)
        for (int64_t n : lengths(ranks)) {
            INFO("n = " << n);
            CHECK(difference(p, s, sizes_of(p, n), ranks) == "");
        }
}

TEST_CASE("Adam") {
    Adam a;
    check_bits(a.program, [&](Schedule &s) { s.split(a.gsum); });
    check_bits(a.program, [&](Schedule &s) {
        auto [rs, ag] = s.split(a.gsum);
        s.reorder(ag, {a.avg, a.m1, a.v1, a.p1});
        s.as_slice(a.m);
        s.as_slice(a.v);
        s.fuse_all();
    });
}

TEST_CASE("LAMB, with both norms on slices") {
    Lamb l;
    check_bits(l.program, [&](Schedule &s) {
        auto [rs, ag] = s.split(l.gsum);
        s.reorder(ag, {l.m1, l.u, l.un, l.p1});
        s.slice(l.pn);
        s.as_slice(l.m);
        s.as_slice(l.p);
    });
}

TEST_CASE("a row-parallel layer, on either dimension") {
    RowParallel r;
    for (int dim : {0, 1})
        check_bits(r.program, [&](Schedule &s) {
            auto [rs, ag] = s.split(r.total, dim);
            s.reorder(ag, {r.out});
            s.as_slice(r.r);
        });
}

TEST_CASE("everything else") {
    Mixed m;
    check_bits(m.program, [&](Schedule &s) {
        auto [rs, ag] = s.split(m.t);
        s.reorder(ag, {m.mixed, m.turned, m.st, m.out, m.total});
        s.as_slice(m.state);
    });
    check_bits(m.program, [&](Schedule &s) {
        s.split(m.t, 1);
        s.reorder(m.whole, {m.mixed, m.turned});
        s.slice(m.total);
        s.split(m.most);
    });
}

TEST_CASE("a graph that computes something else is noticed") {
    Adam a;
    Schedule s(a.program);
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.m1});
    CHECK(difference(a.program, s, sizes_of(a.program, 17), 3) == "");
    auto differs = [&](const std::function<void(Graph &)> &change) {
        Graph g = s.graph();
        change(g);
        return !difference(a.program, g, sizes_of(a.program, 17), 3).empty();
    };
    auto id = [](Graph &g, const char *name) { return g.find(name)->id; };
    CHECK_FALSE(differs([](Graph &) {}));
    CHECK(differs([&](Graph &g) {  // without the division
        NodeId m1 = id(g, "m1");
        g.redirect_reads(id(g, "avg"), id(g, "gsum.rs"), {m1});
    }));
    CHECK(differs([&](Graph &g) { g.redirect_results(id(g, "v1"), id(g, "m1.ag")); }));
    CHECK(differs([&](Graph &g) {  // a sum that is rounded to 16 bits
        Node &n = g.at(id(g, "avg"));
        n.value = cast<float>(cast(f16, n.value));
    }));
}
