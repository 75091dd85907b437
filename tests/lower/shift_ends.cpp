// A shift in one Group with its operand is the end of the sweep: a store to the rank that the element goes to. No pass over the
// operand, no wait before it, and on messages one for each rank that gets something.
#include <doctest/doctest.h>
#include "../programs.h"
#include "lower/generator/check.h"
#include "lower/loop_nest.h"
#include "lower/lower.h"
#include "tests/golden.h"
#include "tests/worlds/worlds.h"

using namespace stretto;

namespace {

struct Step {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, b{"b", f32, {n}, local};
    Output<Tensor> y{"y", f32, {n}, local};
    Tensor gsum{"gsum"}, h{"h"}, t{"t"};
    std::unique_ptr<Program> program;
    explicit Step(const Edge &edge) {
        gsum = all_reduce(g);
        h(i) = gsum(i) * b(i);
        t = shift(h, 1, edge);
        y(i) = t(i) + 1.0f;
        program = std::make_unique<Program>("step", std::vector<ArgumentRef>{g, b, y});
    }
    Schedule fused() {
        Schedule s(*program);
        s.fuse({gsum, h, t});
        return s;
    }
};

const std::pair<const char *, Edge> edges[] = {{"cyclic", cyclic}, {"keep", keep}, {"fill", fill(7.0f)}};

}  // namespace

TEST_CASE("shift as an end: the loops") {
    std::string text;
    for (auto &[name, edge] : edges) text += std::string(name) + "\n" + loop_nest(lower_to_stages(Step(edge).fused().graph()));
    test::check_golden("lower/shift_ends", text);
}

TEST_CASE("shift as an end: one wait less, the operand is not stored") {
    for (auto &[name, edge] : edges) {
        Step step(edge);
        Compiled separate = compile(*step.program), fused = compile(*step.program, step.fused());
        auto counted = [](const Compiled &f) {
            uint64_t barriers = 0;
            run(threads(3), [&](Communicator &c) {
                std::vector<float> g(1000, 1.0f), b(1000, float(c.rank())), y(1000);
                f(c, g, b, y);
                if (c.rank() == 0) barriers = c.stats().barriers;
            });
            return barriers;
        };
        CHECK(counted(fused) + 1 == counted(separate));
    }
}

TEST_CASE("shift as an end: the bits of the reference on threads, on messages and on two hosts, in several chunks") {
    for (auto &[name, edge] : edges)
        for (auto world : {threads, test::message_world, test::two_host_world}) {
            Step step(edge);
            INFO(name);
            CheckOptions o;
            o.world = world;
            for (int64_t size : {1009, 70001}) {
                o.ranks = size > 1009 ? std::vector<int>{3} : std::vector<int>{1, 2, 3, 4, 5, 8};
                o.sizes = {0, 1, 3, size};
                CheckReport report = check(*step.program, step.fused(), o);
                CHECK_MESSAGE(report.ok(), to_string(report));
            }
        }
}

TEST_CASE("shift as an end: nothing of the set reads the result") {
    Step step(cyclic);
    Schedule s(*step.program);
    CHECK_THROWS_WITH(s.fuse({step.gsum, step.h, step.t, step.y}),
                      doctest::Contains("a shift is a store at the end of a sweep"));
}
