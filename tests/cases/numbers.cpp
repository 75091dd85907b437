// Values on which others were wrong: NaN, 16-bit sums, results that depend on the size of the tensor around them.
#include "jit.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace stretto;
using namespace stretto::test;

namespace {

const float nan_ = std::numeric_limits<float>::quiet_NaN();

// all_reduce(g) under every schedule that an all-reduce has.
struct Reduce {
    Size n{"n"};
    Input<Tensor> g;
    Output<Tensor> out;
    Program program;
    Schedules schedules;
    Reduce(const Type &t, ReduceOp op)
        : g("g", t, {n}, partial(op)), out("out", t, {n}), program(define()), schedules(program) {
        schedules.add(program, "one-shot", [&](Schedule &s) { s.collective(out, Algorithm::OneShot); });
        schedules.add(program, "two-phase", [&](Schedule &s) { s.collective(out, Algorithm::TwoPhase); });
        schedules.add(program, "split", [&](Schedule &s) { s.split(out); });
        schedules.add(program, "split and fused", [&](Schedule &s) {
            s.split(out);
            s.fuse_all();
        });
    }
    Program define() {
        out = all_reduce(g);
        return Program{"reduce", {g, out}};
    }
};

}  // namespace

TEST_CASE("a NaN on any rank, at any element, is the maximum and the minimum") {
    for (ReduceOp op : {ReduceOp::Max, ReduceOp::Min}) {
        Reduce r(f32, op);
        for (auto &[name, schedule] : r.schedules.all) {
            INFO(name);
            CompileOptions o;
            o.direct_ranks = {};
            Compiled f = compile(r.program, schedule, o);
            for (int bad = 0; bad < 3; bad++)
                run(threads(3), [&](Communicator &c) {
                    std::vector<float> g(19, float(c.rank() + 1)), out(19);
                    for (size_t k = 0; k < 19; k += 2)
                        if (c.rank() == bad) g[k] = nan_;
                    f(c, g, out);
                    for (size_t k = 0; k < 19; k++) {
                        if (k % 2 == 0) CHECK(std::isnan(out[k]));
                        else CHECK(out[k] == (op == ReduceOp::Max ? 3 : 1));
                    }
                });
        }
    }
}

TEST_CASE("a NaN within a rank's reduction; -0 is below +0") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> high{"high", f32, {}}, low{"low", f32, {}};
    high() = max_over(i, x(i));
    low() = min_over(i, x(i));
    Compiled f = compile(Program{"extremes", {x, high, low}});
    run(threads(2), [&](Communicator &c) {
        for (size_t bad = 0; bad < 3; bad++) {
            std::vector<float> x{1, 2, 3};
            x[bad] = nan_;
            float high = 0, low = 0;
            f(c, x, view(&high), view(&low));
            CHECK(std::isnan(high));
            CHECK(std::isnan(low));
        }
        std::vector<float> zeros{0.f, -0.f, 0.f, -0.f};
        float high = -1, low = 1;
        f(c, zeros, view(&high), view(&low));
        CHECK(!std::signbit(high));
        CHECK(std::signbit(low));
    });
}

TEST_CASE("bf16: 256 and seven ones are 264 under every schedule; f16: 2048 and seven are 2056") {
    for (auto [type, first, one, expected] : {std::tuple{bf16, 0x4380, 0x3f80, 0x4384}, {f16, 0x6800, 0x3c00, 0x6804}}) {
        Reduce r(type, Sum);
        for (auto &[name, schedule] : r.schedules.all)
            for (bool direct : {true, false}) {  // kernels that take 8 addends, and sums in scratch
                INFO(name);
                CompileOptions o;
                o.direct_ranks = direct ? std::vector<int>{8} : std::vector<int>{};
                Compiled f = compile(r.program, schedule, o);
                run(threads(8), [&, first = first, one = one, expected = expected, type = type](Communicator &c) {
                    std::vector<uint16_t> g(37, uint16_t(c.rank() ? one : first)), out(37);
                    View vg = view(g.data(), {37}), vout = view(out.data(), {37});
                    vg.get()->type = vout.get()->type = type;
                    f(c, vg, vout);
                    for (uint16_t x : out) CHECK(x == expected);
                });
            }
    }
}

TEST_CASE("the same 1000 values alone and as the head of 10^6 give the same bits") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Tensor gsum{"gsum"}, p1{"p1"};
    gsum = all_reduce(g);
    p1(i) = p(i) - 0.01f * gsum(i) / (sqrt(gsum(i) * gsum(i) + 0.1f * p(i) * p(i)) + 1e-8f);
    update(p, p1);
    Program step{"step", {g, p}};
    Schedules schedules(step);
    schedules.add(step, "fused", [&](Schedule &s) {
        s.reorder(s.split(gsum).ag, {p1});
        s.fuse_all();
    });
    std::vector<float> first;
    for (auto &[name, schedule] : schedules.all) {
        Compiled f = compile(step, schedule);
        for (size_t n : {size_t(1000), size_t(1000000)}) {
            INFO(name << ", n = " << n);
            run(threads(3), [&](Communicator &c) {
                std::vector<float> g(n), p(n);
                for (size_t k = 0; k < n; k++) {
                    g[k] = std::sin(float(k) * (1.f + float(c.rank())));
                    p[k] = std::cos(float(k) * 0.7f);
                }
                f(c, g, p);
                p.resize(1000);
                if (c.rank() == 0 && first.empty()) first = p;
                c.barrier();
                CHECK(std::memcmp(p.data(), first.data(), 4000) == 0);
            });
        }
    }
}

TEST_CASE("f16 in the whole range: vector body and tail agree, around multiples of the vector") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f16, {n}, partial(Sum)}, y{"y", f16, {n}};
    x.range(-65504, 65504), y.range(-65504, 65504);
    Output<Tensor> sum{"sum", f16, {n}}, out{"out", f16, {n}};
    sum = all_reduce(x);
    out(i) = sum(i) * cast(f16, 0.5f) + y(i) / (abs(y(i)) + cast(f16, 1.0f)) - y(i);
    Program p{"tails", {x, y, sum, out}};
    CheckOptions o;
    o.ranks = {1, 3};
    for (int64_t around : {16, 32, 64, 128})
        for (int64_t d : {-1, 0, 1}) o.sizes.push_back(around + d);
    check_bits(p, Schedule(p), o);
    Schedule s(p);
    s.reorder(s.split(sum).ag, {out});
    s.fuse_all();
    check_bits(p, s, o);
}
