// exp, log, pow and erf of float32, which the language expands: the reference walks the expansion
// to the very bits of compiled code, scalar and vector; and how far the expansions are from the
// true values.
#include <doctest/doctest.h>
#include "jit.h"
#include "lang/expand.h"
#include "lang/tensor.h"

#include <cmath>
#include <cstdio>

using namespace stretto;
using namespace stretto::test;

namespace {

// 10^4 arguments: special values, random bits, and a range where results are ordinary.
HostTensor arguments(double low, double high, uint64_t seed) {
    HostTensor t = random_bits(f32, 10000, seed), ordinary = random_in(f32, 10000, low, high, seed + 1);
    for (int64_t i = 4000; i < t.count(); i++) t.store(i, ordinary.load(i));
    return t;
}

void same_as_compiled(const char *what, const Formula &f, const std::vector<HostTensor> &operands) {
    HostTensor reference = by_reference(f, operands);
    for (int lanes : {1, 8, 16}) {
        std::string d = difference(reference, by_jit(f, operands, lanes), operands);
        CHECK_MESSAGE(d == "", what << ", " << lanes << " lanes: " << d);
    }
}

// The distance of a float from the true value, in units of the last place of the float nearest to it.
double ulps(float x, double exact) {
    float nearest = float(exact);
    if (x == nearest || (std::isnan(x) && std::isnan(exact)))
        return std::fabs(double(x) - exact) < 0x1p-140 ? 0 : 0.5;
    if (!std::isfinite(x) || !std::isfinite(nearest)) return 1e9;
    double unit = std::ldexp(1.0, std::max(std::ilogb(nearest == 0 ? 0x1p-149f : nearest) - 23, -149));
    return std::fabs(double(x) - exact) / unit;
}

struct Worst {
    double ulps = 0, at = 0, second = 0;
};

Worst worst(const char *what, const Formula &f, double (*exact)(double, double),
            const std::vector<HostTensor> &operands) {
    HostTensor y = by_reference(f, operands);
    Worst w;
    for (int64_t i = 0; i < y.count(); i++) {
        double a = operands[0].get(i), b = operands.back().get(i), d = ulps(float(y.get(i)), exact(a, b));
        if (d > w.ulps) w = {d, a, b};
    }
    if (operands.size() > 1)
        std::printf("%-28s at most %.3g ulp, at (%.9g, %.9g)\n", what, w.ulps, w.at, w.second);
    else std::printf("%-28s at most %.3g ulp, at %.9g\n", what, w.ulps, w.at);
    return w;
}

Expr expanded(const Expr &e) {
    return expand_functions(e);
}

const Formula exp_ = [](auto &x) { return expanded(exp(x[0])); };
const Formula log_ = [](auto &x) { return expanded(log(x[0])); };
const Formula pow_ = [](auto &x) { return expanded(pow(x[0], x[1])); };
const Formula erf_ = [](auto &x) { return expanded(stretto::erf(Expr(x[0]))); };

}  // namespace

TEST_CASE("Halide's own expansions, walked, give the bits of compiled code") {
    // Beyond 2^31 / log2(e) halide_exp casts a float to an integer that it does not fit.
    same_as_compiled("halide_exp",
                     [](auto &x) { return Halide::strict_float(Halide::Internal::halide_exp(x[0])); },
                     {arguments(-100, 100, 1)});
    same_as_compiled("halide_log",
                     [](auto &x) { return Halide::strict_float(Halide::Internal::halide_log(x[0])); },
                     {arguments(0, 1000, 2)});
    same_as_compiled(
        "halide_erf",
        [](auto &x) { return expanded(Halide::strict_float(Halide::Internal::halide_erf(x[0]))); },
        {arguments(-4, 4, 3)});
}

TEST_CASE("the language's exp, log, pow and erf, walked, give the bits of compiled code") {
    same_as_compiled("exp", exp_, {arguments(-100, 100, 4)});
    same_as_compiled("log", log_, {arguments(0, 1000, 5)});
    same_as_compiled("erf", erf_, {arguments(-4, 4, 6)});
    HostTensor y = arguments(-8, 8, 8);
    for (int64_t i = 6000; i < y.count(); i++) y.set(i, std::round(y.get(i)));
    HostTensor x = arguments(-3, 3, 7);
    same_as_compiled("pow", pow_, {x, y});
}

TEST_CASE("they are near the true values") {
    CHECK(worst("exp on -87..88", exp_, [](double x, double) { return std::exp(x); },
                {random_in(f32, 100000, -87, 88, 10)})
              .ulps < 4);
    CHECK(worst("log on 1e-37..1e37", log_, [](double x, double) { return std::log(x); },
                {random_in(f32, 100000, 1e-37, 1e37, 11)})
              .ulps < 4);
    CHECK(worst("log on 0.25..4", log_, [](double x, double) { return std::log(x); },
                {random_in(f32, 100000, 0.25, 4, 12)})
              .ulps < 8);
    CHECK(worst("erf on -4..4", erf_, [](double x, double) { return std::erf(x); },
                {random_in(f32, 100000, -4, 4, 13)})
              .ulps < 64);
    CHECK(worst("pow on 0.5..2, -8..8", pow_, [](double x, double y) { return std::pow(x, y); },
                {random_in(f32, 100000, 0.5, 2, 14), random_in(f32, 100000, -8, 8, 15)})
              .ulps < 64);
    CHECK(worst("pow on 0..100, -8..8", pow_, [](double x, double y) { return std::pow(x, y); },
                {random_in(f32, 100000, 0.01, 100, 16), random_in(f32, 100000, -8, 8, 17)})
              .ulps < 256);
}

TEST_CASE("special values") {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    auto value = [](const Formula &f, std::vector<float> x) {
        std::vector<HostTensor> operands;
        for (float v : x) {
            HostTensor t(f32, {0}, {1});
            t.set(0, v);
            operands.push_back(t);
        }
        return float(by_reference(f, operands).get(0));
    };
    auto same = [](float a, float b) {
        return (std::isnan(a) && std::isnan(b)) || Value::of(a).bits == Value::of(b).bits;
    };
    for (float x : {0.f, -0.f, inf, -inf, nan, 100.f, -200.f, 1e10f, -1e10f, 1e30f, -1e30f})
        CHECK_MESSAGE(same(value(exp_, {x}), std::exp(x)),
                      "exp(" << x << ") = " << value(exp_, {x}) << ", not " << std::exp(x));
    for (float x : {0.f, -0.f, 1.f, inf, -1.f, -inf, nan})
        CHECK_MESSAGE(same(value(log_, {x}), std::log(x)),
                      "log(" << x << ") = " << value(log_, {x}) << ", not " << std::log(x));
    for (float x : {0.f, inf, -inf, nan, 10.f, -10.f})
        CHECK_MESSAGE(same(value(erf_, {x}), std::erf(x)),
                      "erf(" << x << ") = " << value(erf_, {x}) << ", not " << std::erf(x));
    for (float x : {0.f, 1.f, inf, nan, -1.f, -2.f, 2.f, -inf})
        for (float y : {0.f, 1.f, 2.f, 3.f, -1.f, -2.f, 0.5f, inf, -inf, nan}) {
            // C gives 1, 1 and infinity here; the expansion NaN.
            if ((x == -1 && std::isinf(y)) || (x == -inf && y == 0.5f)) continue;
            CHECK_MESSAGE(ulps(value(pow_, {x, y}), std::pow(double(x), double(y))) < 4,
                          "pow(" << x << ", " << y << ") = " << value(pow_, {x, y}) << ", not "
                                 << std::pow(x, y));
        }
}
