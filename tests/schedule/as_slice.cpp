#include "lang/infer.h"
#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

static void on_slices(Adam &a, Schedule &s) {
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.m1, a.v1, a.p1});
}

TEST_CASE("the caller passes a slice, the gather of the new value goes") {
    Adam a;
    check_golden("schedule/as_slice", before_and_after(a.program, [&](Schedule &s) {
                     on_slices(a, s);
                     s.as_slice(a.m);
                     s.as_slice(a.v);
                 }));
}

TEST_CASE("an input, of the dimension that is sliced; the blocks of a full reduction are slices too") {
    RowParallel r;
    Schedule s(r.program);
    auto [rs, ag] = s.split(r.total, 1);
    s.reorder(ag, {r.out});
    s.as_slice(r.r);
    s.as_slice(r.bias);
    CHECK(to_string(s.graph().find_argument("r")->layout) == "sliced(1)");
    CHECK(to_string(s.graph().find_argument("bias")->layout) == "sliced(0)");

    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {}};
    y() = norm2(i, x(i));
    Program p{"norm", {x, y}};
    Schedule t(p);
    t.slice(y);
    t.as_slice(x);
    CHECK(to_string(t.graph().find_argument("x")->layout) == "sliced(0)");
}

TEST_CASE("the new value may be used in full elsewhere: its gather stays for that") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, partial(Sum)};
    InOut<Tensor> m{"m", f32, {n}}, q{"q", f32, {n}};
    Tensor t{"t"}, m1{"m1"};
    t = all_reduce(x);
    m1(i) = m(i) + t(i);
    update(m, m1);
    update(q, m1);
    Program p{"two", {x, m, q}};
    check_golden("schedule/as_slice_shared", before_and_after(p, [&](Schedule &s) {
                     auto [rs, ag] = s.split(t);
                     s.reorder(ag, {m1});
                     s.as_slice(m);
                 }));
}

TEST_CASE("what as_slice refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("a use that is not a slice", s, [&](Schedule &s) { s.as_slice(a.m); });
    r.add("not an argument", s, [&](Schedule &s) { s.as_slice(a.avg); });
    r.add("partial", s, [&](Schedule &s) { s.as_slice(a.g); });
    auto [rs, ag] = s.split(a.gsum);
    s.reorder(ag, {a.avg, a.v1});
    r.add("one of several uses", s, [&](Schedule &s) { s.as_slice(a.p); });
    s.as_slice(a.v);
    r.add("twice", s, [&](Schedule &s) { s.as_slice(a.v); });

    Mixed m;
    Schedule mixed(m.program);
    r.add("an output", mixed, [&](Schedule &s) { s.as_slice(m.out); });
    auto tag = mixed.split(m.t, 0).ag;
    mixed.reorder(tag, {m.mixed});
    r.add("read at another element too", mixed, [&](Schedule &s) { s.as_slice(m.q); });
    mixed.slice(m.out, 1);
    r.add("its slice, and all of it on a dimension that is sliced", mixed, [&](Schedule &s) { s.as_slice(m.q); });

    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {n, n}}, unused{"unused", f32, {n, n}};
    Output<Tensor> y{"y", f32, {n, n}}, z{"z", f32, {n, n}};
    InOut<Tensor> u{"u", f32, {n, n}}, w{"w", f32, {n, n}};
    Tensor u1{"u1"};
    y(i, j) = x(i, j) * 2.0f + u(i, j);
    z(i, j) = x(j, i) * 2.0f;
    u1(i, j) = x(i, j) * 3.0f;
    update(u, u1);
    update(w, u);
    Program p{"square", {x, unused, y, z, u, w}};
    Schedule square(p);
    square.slice(y, 0);
    square.slice(z, 0);
    square.slice(u1, 0);
    r.add("two dimensions", square, [&](Schedule &s) { s.as_slice(x); });
    r.add("no use", square, [&](Schedule &s) { s.as_slice(unused); });
    r.add("its value at entry is another's new value", square, [&](Schedule &s) { s.as_slice(u); });

    // The reads are of slices, the new value is not.
    InOut<Tensor> o{"o", f32, {n, n}};
    Output<Tensor> from{"from", f32, {n, n}};
    Tensor o1{"o1"};
    from(i, j) = o(i, j) + 1.0f;
    o1(i, j) = x(i, j) * 2.0f;
    update(o, o1);
    Program q{"kept", {x, o, from}};
    Schedule kept(q);
    kept.slice(from, 0);
    r.add("a new value that is whole", kept, [&](Schedule &s) { s.as_slice(o); });
    r.check("schedule/as_slice_refused");
}

TEST_CASE("a graph whose slice and new value do not agree is refused whatever made it") {
    Adam a;
    Schedule s(a.program);
    on_slices(a, s);
    s.as_slice(a.m);
    Graph g = s.graph();
    for (auto &r : g.results)
        if (g.arguments[r.argument].name == "m") r.node = g.find("p1.ag")->id;
    CHECK_THROWS_WITH(stretto::apply(g, FuseAll{}), doctest::Contains("m is sliced(0), p1.ag is replicated"));
}
