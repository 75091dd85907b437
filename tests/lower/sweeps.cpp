// What fuse prints is what lowering makes: the loops over elements of each Group, counted.
#include <doctest/doctest.h>
#include <cstdio>
#include "lower/generator/check.h"
#include "lower/lower.h"
#include "tests/random/random_schedule.h"
#include "tests/schedule/programs.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// Neither copies to arguments, nor the fold of block results and their exchange, nor values without a dimension.
bool loops_over_elements(const Lowering &l, const Stage &s) {
    if (s.nodes.empty() || s.rides || s.kind == plan::StageKind::Fold) return false;
    const Node &n = l.graph.at(s.nodes[0]);
    if (s.kind == plan::StageKind::BlockSum) return true;
    return s.loops.empty() ? n.is_communication() : s.loops[0].extent.kind != Dim::Ranks;
}

int groups = 0;

template <class P>
void check() {
    P p;
    for (uint64_t seed = 0; seed < 24; seed++) {
        Schedule s = random_schedule(p.program, seed, 20);
        INFO(s.text());
        const Lowering l = lower_to_stages(s.graph());
        std::map<int, int> loops;
        for_each_stage(l.items, [&](const Stage &stage) {
            if (loops_over_elements(l, stage)) loops[l.graph.at(stage.nodes[0]).directives.group]++;
        });
        for (auto &group : groups_of(s.graph())) {
            CHECK(group.sweeps == std::max(loops[group.id], 1));
            groups++;
        }
    }
}

}  // namespace

TEST_CASE("every Group has the sweeps that were printed") {
    check<Adam>();
    check<Lamb>();
    check<RowParallel>();
    check<Mixed>();
    check<Chain>();
    std::printf("%d Groups\n", groups);
    CHECK(groups > 50);
}

TEST_CASE("an addend reads what is the same on all ranks from the rank that adds it up, also what the sweep computes") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, w{"w", f32, {n}};
    InOut<Tensor> p{"p", f32, {n}};
    Tensor scale{"scale"}, weighted{"weighted"}, t{"t"}, p1{"p1"};
    scale(i) = w(i) * 0.5f + w(0);
    weighted(i) = g(i) * scale(i) * p(i);
    t = all_reduce(weighted);
    p1(i) = p(i) - t(i);
    update(p, p1);
    Program program{"weighted", {g, w, p}};
    Schedule whole(program), sliced(program);
    CHECK(to_string(whole.fuse({scale, weighted, t, p1})) == "Group 0, 1 sweep: {scale, weighted, t, p1}");
    auto [rs, ag] = sliced.split(t);
    sliced.reorder(ag, {p1});
    CHECK(to_string(sliced.fuse({weighted, rs, p1, sliced.gather_of(p1)})) == "Group 0, 1 sweep: {weighted, t.rs, p1, p1.ag}");
    Chain chain;
    CheckOptions o;
    o.ranks = {1, 2, 3};
    o.sizes = {1, 3, 33, 1009};
    for (auto &s : {Schedule(program), whole, sliced}) {
        CheckReport r = check(program, s, o);
        CHECK_MESSAGE(r.ok(), to_string(r));
    }
    CheckReport r = check(chain.program, Schedule(chain.program), o);
    CHECK_MESSAGE(r.ok(), to_string(r));
}
