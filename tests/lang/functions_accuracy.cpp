// How far the language's functions are from the true values, which libquadmath computes in 113 bits: over the whole range of
// bits, subnormal numbers, infinities, NaN and signed zeros included, and densely where a definition has its seams. The
// compiled code is measured; a sample is compared with the reference interpreter and with scalar code, bit for bit.
// STRETTO_LONG=1 in the environment: 10^6 points for each function instead of 24,000.
#include <doctest/doctest.h>
#include "lang/expand.h"
#include "lang/tensor.h"
#include "tests/reference/jit.h"

extern "C" {
#include <quadmath.h>
}
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace stretto;
using namespace stretto::test;
using Quad = __float128;

namespace {

struct Range {
    double low, high;
};

struct Function {
    const char *name;
    Formula formula;
    Quad (*exact)(Quad, Quad);
    std::vector<Range> dense;  // of the first operand
    std::vector<Range> dense_second = {};
    bool integral_second = false;  // in every third point
    int operands() const { return dense_second.empty() ? 1 : 2; }
};

Quad remainder_exact(Quad a, Quad b) {
    Quad r = fmodq(a, b);
    if (isnanq(r)) return r;
    if (r != 0 && signbitq(r) != signbitq(b)) r = isinfq(b) ? b : r + b;
    return copysignq(fabsq(r), b);
}

// clang-format off
const Function functions[] = {
    {"exp", [](auto &x) { return exp(x[0]); }, [](Quad x, Quad) { return expq(x); },
     {{-1, 1}, {-104, 90}, {-104, -86}, {-746, 711}, {-746, -707}, {-1e-6, 1e-6}}},
    {"log", [](auto &x) { return log(x[0]); }, [](Quad x, Quad) { return logq(x); },
     {{0.5, 2}, {0.99, 1.01}, {0, 100}, {0, 1.2e-38}, {0, 2.3e-308}}},
    {"pow", [](auto &x) { return pow(x[0], x[1]); }, [](Quad x, Quad y) { return powq(x, y); },
     {{0, 2}, {0.9, 1.1}, {-20, 20}, {0, 1e6}, {0, 1e-38}, {0.999, 1.001}},
     {{-8, 8}, {-1000, 1000}, {-140, 140}, {-50, 50}, {-3, 3}, {-3e5, 3e5}}, true},
    {"%", [](auto &x) { return x[0] % x[1]; }, remainder_exact,
     {{-10, 10}, {-1e6, 1e6}, {0, 1e30}, {-1, 1}, {-1e-39, 1e-39}, {0, 1e-300}},
     {{-3, 3}, {-1e-3, 1e-3}, {-1e-30, 1e-30}, {-1e9, 1e9}, {-1e-40, 1e-40}, {-1e-310, 1e-310}}, true},
    {"tanh", [](auto &x) { return tanh(x[0]); }, [](Quad x, Quad) { return tanhq(x); },
     {{-1, 1}, {-20, 20}, {-0.2, 0.2}, {0.15, 0.19}, {-1e-4, 1e-4}}},
    {"erf", [](auto &x) { return stretto::erf(Expr(x[0])); }, [](Quad x, Quad) { return erfq(x); },
     {{-1, 1}, {-7, 7}, {0.8, 1}, {2.2, 2.3}, {-1e-4, 1e-4}, {3.5, 6}}},
    {"sin", [](auto &x) { return sin(x[0]); }, [](Quad x, Quad) { return sinq(x); },
     {{-1, 1}, {-7, 7}, {-1000, 1000}, {-1e9, 1e9}, {3.1415, 3.1417}, {0.9, 1.1}, {-1e30, 1e30}}},
    {"cos", [](auto &x) { return cos(x[0]); }, [](Quad x, Quad) { return cosq(x); },
     {{-1, 1}, {-7, 7}, {-1000, 1000}, {-1e9, 1e9}, {1.5707, 1.5709}, {0.9, 1.1}, {-1e30, 1e30}}},
    {"tan", [](auto &x) { return tan(x[0]); }, [](Quad x, Quad) { return tanq(x); },
     {{-1, 1}, {-7, 7}, {-1000, 1000}, {-1e9, 1e9}, {1.5707, 1.5709}, {0.9, 1.1}, {-1e30, 1e30}}},
    {"asin", [](auto &x) { return asin(x[0]); }, [](Quad x, Quad) { return asinq(x); },
     {{-1, 1}, {0.49, 0.51}, {0.99, 1.00001}, {-1e-3, 1e-3}}},
    {"acos", [](auto &x) { return acos(x[0]); }, [](Quad x, Quad) { return acosq(x); },
     {{-1, 1}, {0.49, 0.51}, {-0.51, -0.49}, {0.99, 1.00001}, {-1.00001, -0.99}}},
    {"atan", [](auto &x) { return atan(x[0]); }, [](Quad x, Quad) { return atanq(x); },
     {{-1, 1}, {-10, 10}, {0.41, 0.42}, {2.4, 2.43}, {0.99, 1.01}, {-1e6, 1e6}}},
    {"atan2", [](auto &x) { return atan2(x[0], x[1]); }, [](Quad y, Quad x) { return atan2q(y, x); },
     {{-1, 1}, {-10, 10}, {0.4, 0.43}, {-1e-39, 1e-39}}, {{-1, 1}, {-10, 10}, {0.9, 1.1}, {-1e-38, 1e-38}}},
    {"sinh", [](auto &x) { return sinh(x[0]); }, [](Quad x, Quad) { return sinhq(x); },
     {{-1, 1}, {-2, 2}, {88, 90}, {-90, 90}, {-711, 711}, {709, 711}, {0.99, 1.01}}},
    {"cosh", [](auto &x) { return cosh(x[0]); }, [](Quad x, Quad) { return coshq(x); },
     {{-1, 1}, {-2, 2}, {88, 90}, {-90, 90}, {-711, 711}, {709, 711}}},
    {"asinh", [](auto &x) { return Halide::asinh(x[0]); }, [](Quad x, Quad) { return asinhq(x); },
     {{-1, 1}, {-10, 10}, {-1e-3, 1e-3}, {-1e13, 1e13}, {0, 1e31}}},
    {"acosh", [](auto &x) { return Halide::acosh(x[0]); }, [](Quad x, Quad) { return acoshq(x); },
     {{0.99, 2}, {1, 1.001}, {1, 10}, {1, 1e13}, {0, 1e31}}},
    {"atanh", [](auto &x) { return Halide::atanh(x[0]); }, [](Quad x, Quad) { return atanhq(x); },
     {{-1, 1}, {0.49, 0.51}, {0.99, 1.00001}, {-1e-3, 1e-3}}},
};
// clang-format on

bool long_test() { return std::getenv("STRETTO_LONG") != nullptr; }

// Hard points by name: exact results, ends of ranges, huge angles, numbers next to multiples of pi / 2.
std::vector<double> hard_points() {
    std::vector<double> v = special_values();
    for (double x : {-2., -0.25, 1.5, 2.5, 4., 5., 13., 0.9, 2.25, 0.41421356237309503, 1e308, -1e308, 1e22,
                     1.7976931348623157e308,
                     1e-40, 1e-45, -1e-45, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310,
                     6381956970095103. * 0x1p797, 16367173. * 0x1p72, 0.785398163397448309,
                     1.570796326794896619, 3.141592653589793,
                     709.7827128933841, 709.79, -708.39, -745.13, -745.14, -87.5, 88.72284,
                     0x1p53, 0x1p53 + 2, 0x1p24, 0x1p23 + 1, 0x1p52 + 1, 0x1p31, 0x1p33, 0x1p62, 0x1p65,
                     1 + 0x1p-23, 1 - 0x1p-24, 1 + 0x1p-52, 1 - 0x1p-53})
        v.push_back(x);
    return v;
}

// Operands of n points: hard points (all pairs of them), random bits, then the dense ranges in turn.
std::vector<HostTensor> points(const Function &f, const Type &t, int64_t n, uint64_t seed) {
    std::vector<HostTensor> v;
    std::vector<double> hard = hard_points();
    const size_t h = hard.size();
    for (int k = 0; k < f.operands(); k++) {
        HostTensor x = random_bits(t, n, seed + uint64_t(k));
        for (size_t i = 0; i < (f.operands() == 2 ? h * h : h); i++) x.set(int64_t(i), hard[k ? i / h : i % h]);
        auto &dense = k ? f.dense_second : f.dense;
        std::mt19937_64 random(seed + 17 + uint64_t(k));
        for (int64_t i = n / 2; i < n; i++) {
            const Range &r = dense[size_t(i) % dense.size()];
            double value = std::uniform_real_distribution<double>(r.low, r.high)(random);
            x.set(i, k && f.integral_second && i % 7 < 2 ? std::round(value) : value);
        }
        v.push_back(x);
    }
    return v;
}

// The distance from the exact value in units of its last place in type t; infinity as the power of two after the largest.
double ulps(double x, Quad exact, const Type &t) {
    const int digits = t.bits() == 64 ? 53 : 24, top = t.bits() == 64 ? 1024 : 128;
    if (std::isnan(x) || isnanq(exact)) return std::isnan(x) && isnanq(exact) ? 0 : 1e30;
    if ((x == 0 || exact == 0) && std::signbit(x) != bool(signbitq(exact))) return 1e30;
    Quad limit = ldexpq(1, top), value = std::isinf(x) ? copysignq(limit, x) : Quad(x);
    if (fabsq(exact) > limit) exact = copysignq(limit, exact);
    int e = exact == 0 ? -100000 : ilogbq(exact);
    Quad unit = ldexpq(1, std::max(std::min(e, top - 1), 2 - (top - 1) - 1) - digits + 1);
    return double(fabsq(value - exact) / unit);
}

template <class T>
double element(const HostTensor &x, int64_t i) {
    T v;
    std::memcpy(&v, x.bytes.data() + size_t(i) * sizeof(T), sizeof(T));
    return double(v);
}
double element(const HostTensor &x, int64_t i) { return x.type == f64 ? element<double>(x, i) : element<float>(x, i); }

std::vector<HostTensor> every(const std::vector<HostTensor> &v, int64_t step) {
    std::vector<HostTensor> r;
    for (auto &x : v) {
        HostTensor y(x.type, {0}, {(x.count() + step - 1) / step});
        for (int64_t i = 0; i < y.count(); i++) y.store(i, x.load(i * step));
        r.push_back(y);
    }
    return r;
}

}  // namespace

TEST_CASE("functions are within 4 ulp of the true values, the remainder is exact; one set of bits") {
    const int64_t n = long_test() ? 1000000 : 24000;
    std::printf("%-8s%-6s%10s  largest error, at\n", "", "", "points");
    for (auto &f : functions)
        for (Type t : {f32, f64}) {
            const std::string what = std::string(f.name) + (t == f64 ? " f64" : " f32");
            Formula formula = [&](const std::vector<Expr> &x) { return expand_functions(f.formula(x)); };
            std::vector<HostTensor> x = points(f, t, n, 1);
            HostTensor y = by_jit(formula, x, t == f64 ? 4 : 8);
            double worst = 0;
            int64_t at = 0, beyond = 0;
            for (int64_t i = 0; i < n; i++) {
                Quad exact = f.exact(element(x[0], i), element(x.back(), i));
                double d = ulps(element(y, i), exact, t);
                beyond += d > 4;
                if (d > worst) worst = d, at = i;
            }
            std::printf("%-8s%-6s%10ld  %.3g ulp, at %.17g", f.name, t == f64 ? "f64" : "f32", long(n), worst,
                        element(x[0], at));
            if (f.operands() == 2) std::printf(", %.17g", element(x[1], at));
            std::printf(" (%.17g)%s\n", element(y, at), beyond ? ("  " + std::to_string(beyond) + " are beyond").c_str() : "");
            CHECK_MESSAGE(worst <= (f.exact == remainder_exact ? 0.5 : 4), what << " is off by " << worst << " ulp");
            std::vector<HostTensor> sample = every(x, long_test() ? 97 : 13);
            HostTensor reference = by_reference(formula, sample);
            for (int lanes : {1, 16}) {
                std::string d = difference(reference, by_jit(formula, sample, lanes), sample);
                CHECK_MESSAGE(d == "", what << ", " << lanes << " lanes: " << d);
            }
        }
}
