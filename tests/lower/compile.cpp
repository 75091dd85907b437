// What compile takes: the schedule of this program, with what the program requires.
#include <doctest/doctest.h>
#include <stretto/stretto.h>

#include "collectives/execute/kernel_error.h"
#include "collectives/plan/pack.h"

using namespace stretto;

namespace {

struct Sgd {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};
    Tensor t{"t"}, next{"next"};
    Program program = define();

    Program define() {
        t = all_reduce(g);
        next(i) = p(i) - lr * t(i);
        update(p, next);
        return Program("sgd", {g, p, lr});
    }
};

}  // namespace

TEST_CASE("the schedule of another program of the same name is refused") {
    Sgd a, b;
    Schedule s(b.program);
    CHECK_THROWS_WITH(compile(a.program, s),
                      "compile(sgd, s): s is a schedule of another program of that name.\nLegal: Schedule s(sgd);");
}

TEST_CASE("what is required after the schedule was made is required") {
    Sgd a;
    Schedule s(a.program);
    s.split(a.t);
    a.program.require(Expr(a.lr) > 0.0f, "lr is positive");
    CHECK(compile(a.program, s).plan().requires_.size() == 1);
}

TEST_CASE("D4: kernels run for the plan that they were compiled for, and refuse one that gives them other arguments") {
    Sgd a;
    const Lowered l = lower_for_jit(Schedule(a.program).graph(), "", {});
    const JitLibrary library(l.module, l.function, runtime::keep_kernel_error);
    auto told = [&](const std::function<void(plan::PlanT &)> &change) {
        plan::PlanT p = l.plan;
        change(p);
        std::vector<uint8_t> bytes = plan::pack(p);
        std::vector<float> g(7, 1), x(7, 3);
        float lr = 2;
        View vg(g.data(), {7}), vp(x.data(), {7}), plan_bytes(bytes.data(), {int64_t(bytes.size())});
        void *argv[] = {vg.get(), vp.get(), &lr};
        std::string text;
        run(threads(1), [&](Communicator &c) {
            const int status = stretto_execute_v1(c.get(), plan_bytes, library.dispatch, argv);
            text = status ? std::string(stretto_status_name(status)) + ": " + stretto_last_error() : "";
            CHECK(x[6] == (status ? 3 : 1));
        });
        return text;
    };
    auto direct = [](plan::PlanT &p) -> plan::KernelT & {
        for (auto &s : p.cpu->stages)
            for (auto &d : s->direct)
                if (d->ranks == 1) return *d->kernel;
        FAIL("no direct kernel");
        return *p.cpu->stages[0]->kernel;
    };
    CHECK(told([](plan::PlanT &) {}) == "");
    const std::string other = "STRETTO_BAD_PLAN: stretto_execute_v1: the plan cannot be run: kernel: kernel ";
    CHECK(told([&](plan::PlanT &p) { direct(p).loads.push_back(direct(p).loads[0]); }).find(other) == 0);
    CHECK(told([](plan::PlanT &p) {
              for (auto &a : p.stages.back()->accesses)
                  if (a->how == plan::How::Read) a->reach = {-1};
          }).find(other) == 0);
    CHECK(told([](plan::PlanT &p) {
              for (auto &k : p.cpu->stages)
                  if (!k->kernel->scalars.empty()) k->kernel->scalars.clear();
          }).find(other) == 0);
}
