// Shapes on which others failed: no elements, no elements on one rank, every dimension.
#include "jit.h"
#include "tests/worlds/worlds.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("an all-reduce of nothing does nothing, and the next operation still matches") {
    for (ReduceOp op : {Sum, ReduceOp::Max}) {
        Size n{"n"};
        Input<Tensor> g{"g", f32, {n}, partial(op)};
        Output<Tensor> out{"out", f32, {n}};
        out = all_reduce(g);
        Program p{"reduce", {g, out}};
        Schedules schedules(p);
        schedules.add(p, "split", [&](Schedule &s) { s.split(out); });
        for (auto &[name, schedule] : schedules.all) {
            CompileOptions o;
            o.direct_ranks = {2};
            Compiled f = compile(p, schedule, o);
            for (int ranks : {1, 2, 4}) {
                INFO(name << ", " << ranks << " ranks");
                run(threads(ranks), [&](Communicator &c) {
                    for (size_t n : {0, 5, 0, 0, 1}) {
                        std::vector<float> g(n, float(c.rank() + 1)), out(n, -1);
                        f(c, g, out);
                        for (float x : out) CHECK(x == (op == Sum ? float(ranks * (ranks + 1)) / 2 : float(ranks)));
                    }
                });
            }
        }
    }
}

TEST_CASE("a rank whose slice is empty: f32[3, 3] on dimension 0 over 4 ranks, a maximum over all") {
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {3, 3}, sliced(0)};
    x.range(-9, -1);  // a padding of zeros would win
    Output<Tensor> high{"high", f32, {}}, sum{"sum", f32, {}}, rows{"rows", f32, {3}, sliced(0)};
    high() = max_over({i, j}, x(i, j));
    sum() = sum_over({i, j}, x(i, j));
    rows(i) = max_over(j, x(i, j));
    Program p{"empty_slice", {x, high, sum, rows}};
    CheckOptions o;
    o.ranks = {4, 5, 8};
    check_bits(p, Schedule(p), o);
}

TEST_CASE("five elements on four ranks, with a norm and sliced state") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> m{"m", f32, {n}};
    Output<Tensor> norm{"norm", f32, {}};
    Tensor gsum{"gsum"}, m1{"m1"};
    gsum = all_reduce(g);
    m1(i) = 0.9f * m(i) + gsum(i);
    norm() = norm2(i, m1(i));
    update(m, m1);
    Program p{"uneven", {g, m, norm}};
    Schedule s(p);
    s.reorder(s.split(gsum).ag, {m1, norm});
    s.as_slice(m);
    CheckOptions o;
    o.ranks = {4};
    o.sizes = {5, 3, 7};
    check_bits(p, s, o);
    check_bits(p, Schedule(p), o);
}

TEST_CASE("gather and scatter of (2, 3, 33, 5) on each of its dimensions") {
    for (int d = 0; d < 4; d++) {
        CAPTURE(d);
        Input<Tensor> x{"x", f32, {2, 3, 33, 5}, sliced(d)}, g{"g", f32, {2, 3, 33, 5}, partial(Sum)};
        Output<Tensor> whole{"whole", f32, {2, 3, 33, 5}}, slice{"slice", f32, {2, 3, 33, 5}, sliced(d)};
        Output<Tensor> sum{"sum", f32, {2, 3, 33, 5}};
        whole = all_gather(x);
        slice = reduce_scatter(g, d);
        sum = all_reduce(g);
        Program p{"any_dimension", {x, g, whole, slice, sum}};
        CheckOptions o;
        o.ranks = {1, 2, 3};
        o.compile.direct_ranks = {2};
        Schedule s(p);
        s.split(sum, d);
        check_bits(p, s, o);
        for (auto world : {test::message_world, test::two_host_world}) {
            o.world = world;
            check_bits(p, Schedule(p), o);
        }
    }
}
