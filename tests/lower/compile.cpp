// What compile takes: the schedule of this program, with what the program requires.
#include <doctest/doctest.h>
#include <stretto/stretto.h>

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
