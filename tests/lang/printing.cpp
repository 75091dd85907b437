// Programs print as the user would write them, the same in every run.
#include <sstream>
#include "refusals.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// value, as the definition of t(i, j) over x[m, n], h (float16), k (int32), y[n] and scalars.
std::string printed(const std::function<Expr(Tensor x, Tensor h, Tensor k, Tensor y, Expr c, Expr seed)> &value) {
    Size m{"m"}, n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {m, n}}, h{"h", f16, {m, n}}, k{"k", i32, {m, n}}, y{"y", f32, {n}};
    Input<float> c{"c"};
    Input<uint64_t> seed{"seed"};
    Tensor t{"t"};
    Expr e = value(x, h, k, y, c, seed);
    Output<Tensor> out{"out", e.type(), {m, n}};
    out(i, j) = e;
    Program p{"p", {x, h, k, y, c, seed, out}};
    return to_string(p.graph(), p.graph().at(p.graph().results[0].node).source);
}

}  // namespace

TEST_CASE("expressions: parentheses where they are needed, constants that read back") {
    Var i{"i"}, j{"j"};
    std::string text;
    auto print = [&](const std::function<Expr(Tensor, Tensor, Tensor, Tensor, Expr, Expr)> &f) { text += printed(f) + "\n"; };
#define PRINT(...) print([&](Tensor x, Tensor h, Tensor k, Tensor y, Expr c, Expr seed) -> Expr { \
        (void)x, (void)h, (void)k, (void)y, (void)c, (void)seed; return __VA_ARGS__; })
    PRINT(x(i, j) + y(j) * c);
    PRINT((x(i, j) + y(j)) * c);
    PRINT(x(i, j) - (y(j) - c));
    PRINT(x(i, j) - y(j) - c);
    PRINT(x(i, j) / (y(j) / c));
    PRINT(-(x(i, j) + 1.0f) * -c);
    PRINT(x(i, j) * 0.1f + 1e-8f - 16777216.0f);
    PRINT(cast<double>(x(i, j)) * Expr(0.1) + Expr(1e300));
    PRINT(h(i, j) * cast(f16, 0.1f));
    PRINT(k(i, j) % 7 / 2 - cast<int>(i) * j);
    PRINT(select((x(i, j) > 0.0f && y(j) <= c) || !(c == 1.0f), x(i, j), -x(i, j)));
    PRINT(max(min(x(i, j), 1.0f), y(max(j - 1, 0))));
    PRINT(clamp(x(i, j), 0.0f, 1.0f));
    PRINT(sqrt(exp(log(pow(abs(x(i, j)), 1.5f)))) + erf(Expr(x(i, j))) + tanh(x(i, j)) + floor(c));
    PRINT(cast<float>(cast<int8_t>(x(i, j))) + cast<float>(cast<uint64_t>(k(i, j))));
    PRINT(x(i, j) * cast<float>(ranks()) + cast<float>(seed));
    PRINT(dropout(x(i, j), 0.1f, seed));
    PRINT(dropout(x(i, j), 0.25f, seed, 3, {j}));
    PRINT(x(i, j) + random(seed) + random(seed, 5));
#undef PRINT
    check_golden("lang/expressions", text);
}

TEST_CASE("a program with every kind of statement") {
    Size n{"n"}, m{"m"};
    Var i{"i"}, j{"j"};
    Input<Tensor> g{"g", bf16, {n}, partial(Sum)}, w{"w", f32, {m, n}, sliced(1)}, z{"z", f64, {n}, local};
    Input<Tensor> ones{"ones", i32, {4}};
    InOut<Tensor> p{"p", f32, {n}}, q{"q", f64, {n}};
    Output<Tensor> mine{"mine", f32, {n}, sliced(0)}, high{"high", f32, {}}, count{"count", i32, {4}};
    Input<double> lr{"lr"};
    Input<int64_t> step{"step"};
    Tensor gsum{"gsum"}, scatter{"scatter"}, first{"first"}, rows{"rows"}, all{"all"}, norm{"norm"}, p1{"p1"}, part{"part"};
    gsum = all_reduce(g, f32);
    scatter = reduce_scatter(g, 0);
    first = broadcast(z, 1);
    rows(j) = sum_over(i, w(j, i) * p(i));
    all = all_reduce(rows);
    norm() = norm2(i, gsum(i));
    high() = max_over({j, i}, w(j, i)).blocks(i);
    part = slice_of(p, 0);
    mine(i) = part(i) + cast<float>(scatter(i));
    p1(i) = p(i) - cast<float>(lr * step) * gsum(i) / norm() + sum_over(j, all(j)).any_order();
    count(i) = ones(i) + 1;
    update(p, p1);
    update(q, first);
    Program program{"everything", {g, w, z, ones, p, q, mine, high, count, lr, step}};
    program.require(step >= 1, "step counts from 1");
    std::string text = to_string(program);
    check_golden("lang/program", text);
    std::ostringstream stream;
    stream << program;
    CHECK(stream.str() == text);
}
