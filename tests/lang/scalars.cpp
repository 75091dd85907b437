// Plan scalars: the parts of expressions that no index enters, each computed once a call in its own type.
#include "refusals.h"

using namespace stretto;
using namespace stretto::test;

namespace {

struct Operands {
    Size n{"n"}, m{"m"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {n}}, z{"z", f32, {n}};
    Input<double> beta{"beta"};
    Input<float> c{"c"};
    Input<int64_t> step{"step"};
    Graph graph() const {
        return Program{"p", {x, y, z, beta, c, step}}.graph();
    }
};

std::vector<std::string> scalars(const Graph &g) {
    std::vector<std::string> s;
    for (auto &e : g.scalars) s.push_back(to_string(g, e));
    return s;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the maximal parts without an index are taken out, in their own type") {
    Operands o;
    o.y(o.i) = cast<float>(1 - o.beta) * o.x(o.i) + cast<float>(o.beta) * o.c;
    o.z(o.i) = o.x(o.i);
    Graph g = o.graph();
    CHECK(scalars(g) == Texts{"cast<float>(1.0 - beta)", "cast<float>(beta) * c"});
    CHECK(g.scalars[0].type() == f32);
}

TEST_CASE("what is written twice is computed once, also in two definitions") {
    Operands o;
    Expr b = cast<float>(1 - pow(o.beta, o.step));
    o.y(o.i) = o.x(o.i) / b + b;
    o.z(o.i) = o.x(o.i) * b;
    CHECK(scalars(o.graph()) == Texts{"cast<float>(1.0 - pow(beta, cast<double>(step)))"});
}

TEST_CASE("constants are none; sizes and ranks() are") {
    Operands o;
    o.y(o.i) = o.x(o.i) * 2.0f + 1.0f;
    o.z(o.i) = o.x(o.i) / cast<float>(Expr(o.n) * ranks());
    Graph g = o.graph();
    REQUIRE(g.scalars.size() == 1);
    CHECK(scalars(g)[0].find("ranks()") != std::string::npos);
}

TEST_CASE("order: (x + c) + c has no part of its own but c, x + (c + c) has one") {
    Operands o;
    o.y(o.i) = (o.x(o.i) + o.c) + o.c;
    o.z(o.i) = o.x(o.i) + (o.c + o.c);
    CHECK(scalars(o.graph()) == Texts{"c", "c + c"});
}

TEST_CASE("schedules do not change them: a scalar of a definition that is read by another stays apart") {
    Operands o;
    Tensor t{"t"};
    t(o.i) = o.c * 3.0f;
    o.y(o.i) = t(o.i) * o.x(o.i);
    o.z(o.i) = o.x(o.i);
    // t has an index on the left, but its value has none: it has no operand that gives i an extent.
    CHECK_THROWS_AS(o.graph(), Error);
    Operands p;
    Tensor u{"u", f32, {p.n}};
    u(p.i) = p.c * 3.0f;
    p.y(p.i) = u(p.i) * p.x(p.i);
    p.z(p.i) = p.x(p.i);
    CHECK(scalars(p.graph()) == Texts{"c * 3.0f"});
}

TEST_CASE("requirements read scalars in their own types") {
    Operands o;
    o.y(o.i) = o.x(o.i);
    o.z(o.i) = o.x(o.i);
    Program p{"p", {o.x, o.y, o.z, o.beta, o.c, o.step}};
    p.require(o.beta < 1 && o.step > 0, "both");
    REQUIRE(p.graph().requirements.size() == 1);
    CHECK(p.graph().requirements[0].text == "both");
    CHECK(p.graph().requirements[0].condition.type().is_bool());
}

TEST_CASE("functions of scalars print as they were written") {
    Operands o;
    Expr nested = tanh(exp(o.c) + pow(o.c, o.c));
    o.y(o.i) = o.x(o.i) * nested;
    o.z(o.i) = o.x(o.i);
    Program p{"p", {o.x, o.y, o.z, o.beta, o.c, o.step}};
    p.require(nested > 0.5f, "some");
    CHECK(scalars(p.graph()) == Texts{"tanh(exp(c) + pow(c, c))"});
    CHECK(to_string(p.graph()).find("require tanh(exp(c) + pow(c, c)) > 0.5f") != std::string::npos);
}

TEST_CASE("a size that no tensor has becomes a parameter of the program") {
    Operands o;
    o.y(o.i) = o.x(o.i) * cast<float>(Expr(o.m));
    o.z(o.i) = o.x(o.i);
    CHECK(o.graph().sizes == Names{"n", "m"});
}
