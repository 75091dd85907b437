// The harness itself: an operation that is replaced by a constant, or swapped for its neighbour, makes a check fail.
#include "jit.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Sgd {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, p1{"p1"};
    Program program = define();
    Program define() {
        gsum = all_reduce(g);
        p1(i) = p(i) - lr * gsum(i);
        update(p, p1);
        return Program{"sgd", {g, p, lr}};
    }
};

CheckReport check_changed(const Program &p, Graph scheduled) {
    scheduled.tidy();
    CheckOptions o;
    o.ranks = {1, 2, 3};
    return check_lowered(p.graph(), scheduled, Compiled(lower_for_jit(scheduled, "")), o);
}

}  // namespace

TEST_CASE("a constant fill in place of an operation is noticed") {
    Sgd s;
    for (const char *name : {"gsum", "p1"}) {
        Graph g = Schedule(s.program).graph();
        CHECK(check_changed(s.program, g).ok());
        for (auto &n : g.nodes)
            if (n.name == name) {
                n.op = Map{};
                n.value = n.source = Halide::Internal::make_const(f32, 0.25);
            }
        CheckReport r = check_changed(s.program, g);
        CHECK_MESSAGE(!r.ok(), name);
        CHECK(r.first_difference.find("p on rank ") != std::string::npos);
    }
}

TEST_CASE("a rounding that differs by one bit is noticed") {
    Sgd s;
    Graph g = Schedule(s.program).graph();
    for (auto &n : g.nodes)
        if (n.name == "p1") n.value = n.value * (1.0f + 1.1920929e-7f);
    CHECK(!check_changed(s.program, g).ok());
}

TEST_CASE("a result that is left as it was is noticed") {
    Sgd s;
    Graph g = Schedule(s.program).graph();
    for (auto &n : g.nodes)
        if (n.name == "p1") n.value = n.source = access(g.find("p")->id, f32, {index("i")});
    CHECK(!check_changed(s.program, g).ok());
}
