// The functions that the language defines: their special values by name, and the same bits from the reference, from scalar
// and vector code, and from code without fused multiply-adds or vectors. functions_accuracy.cpp compares with true values.
#include <doctest/doctest.h>
#include <cmath>
#include "lang/expand.h"
#include "lang/tensor.h"
#include "tests/reference/jit.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// clang-format off
const std::pair<const char *, Formula> functions[] = {
    {"exp", [](auto &x) { return exp(x[0]); }},
    {"log", [](auto &x) { return log(x[0]); }},
    {"pow", [](auto &x) { return pow(x[0], x[1]); }},
    {"%", [](auto &x) { return x[0] % x[1]; }},
    {"sin", [](auto &x) { return sin(x[0]); }},
    {"cos", [](auto &x) { return cos(x[0]); }},
    {"tan", [](auto &x) { return tan(x[0]); }},
    {"asin", [](auto &x) { return asin(x[0]); }},
    {"acos", [](auto &x) { return acos(x[0]); }},
    {"atan", [](auto &x) { return atan(x[0]); }},
    {"atan2", [](auto &x) { return atan2(x[0], x[1]); }},
    {"sinh", [](auto &x) { return sinh(x[0]); }},
    {"cosh", [](auto &x) { return cosh(x[0]); }},
    {"tanh", [](auto &x) { return tanh(x[0]); }},
    {"asinh", [](auto &x) { return Halide::asinh(x[0]); }},
    {"acosh", [](auto &x) { return Halide::acosh(x[0]); }},
    {"atanh", [](auto &x) { return Halide::atanh(x[0]); }},
    {"erf", [](auto &x) { return stretto::erf(Expr(x[0])); }},
    {"fast_inverse", [](auto &x) { return x[0].type() == f32 ? Halide::fast_inverse(x[0]) : x[0]; }},
    {"fast_inverse_sqrt", [](auto &x) { return x[0].type() == f32 ? Halide::fast_inverse_sqrt(x[0]) : x[0]; }},
};
// clang-format on

Formula expanded(const Formula &f) {
    return [f](const std::vector<Expr> &x) { return expand_functions(f(x)); };
}

Formula function(const std::string &name) {
    for (auto &f : functions)
        if (f.first == name) return expanded(f.second);
    FAIL("no function " << name);
    return {};
}

HostTensor one(const Type &t, double x) {
    HostTensor h(t, {0}, {1});
    h.set(0, x);
    return h;
}

double value(const char *name, const Type &t, double x, double y = 0) {
    return by_reference(function(name), {one(t, x), one(t, y)}).get(0);
}

}  // namespace

TEST_CASE("the bits are the same from the reference, scalars, vectors, and machines with little") {
    Halide::Target host = Halide::get_jit_target_from_environment();
    Halide::Target plain(host.os, host.arch, host.bits, {Halide::Target::JIT});
    for (auto &f : functions)
        for (Type t : {f32, f64}) {
            HostTensor x = random_bits(t, 2000, 1), y = random_bits(t, 2000, 2), ordinary = random_in(t, 2000, -4, 4, 3);
            for (int64_t i = 1000; i < 2000; i++) x.store(i, ordinary.load(i));
            for (int64_t i = 1500; i < 2000; i++) y.store(i, ordinary.load(i - 700));
            Formula formula = expanded(f.second);
            HostTensor reference = by_reference(formula, {x, y});
            for (auto &[target, lanes] : {std::pair{host, 1}, {host, 8}, {host, 16}, {plain, 1}, {plain, 8}}) {
                std::string d = difference(reference, by_jit(formula, {x, y}, lanes, target), {x, y});
                CHECK_MESSAGE(d == "", f.first << " of " << t << ", " << lanes << " lanes, " << target << ": " << d);
            }
        }
}

TEST_CASE("operands that are constants") {
    HostTensor y = random_in(f32, 8, 1, 4, 5), z = random_in(f64, 8, 1, 4, 5);
    auto same = [&](const char *name, Type t, double c, const Formula &f) {
        Formula where_positive = [&](const std::vector<Expr> &x) {
            return select(x[0] > 0, expand_functions(f({Halide::Internal::make_const(t, c), x[0]})), x[0]);
        };
        const std::vector<HostTensor> operands = {t == f64 ? z : y};
        std::string d = difference(by_reference(where_positive, operands), by_jit(where_positive, operands, 8), operands);
        CHECK_MESSAGE(d == "", name << " of " << t << " and " << c << ": " << d);
    };
    for (Type t : {f32, f64}) {
        for (double c : {-0.0, 0.75, -3.0, 1e30})
            for (auto &f : functions) same(f.first, t, c, f.second);
        for (double c : {-0.0, 0.5, 3.0}) {
            same("pow", t, c, [](auto &x) { return pow(x[1], x[0]); });
            same("%", t, c, [](auto &x) { return x[1] % x[0]; });
            same("atan2", t, c, [](auto &x) { return atan2(x[1], x[0]); });
        }
    }
}

TEST_CASE("values by name") {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double least = 0x1p-149, pi = 3.141592653589793;
    struct {
        const char *name;
        Type type;
        double x, y, is;
    } cases[] = {
        {"exp", f32, 1, 0, float(std::exp(1.0))},
        {"exp", f32, 0, 0, 1},
        {"exp", f32, -inf, 0, 0},
        {"exp", f32, 1e30, 0, inf},
        {"exp", f32, -103.9, 0, least},
        {"exp", f64, nan, 0, nan},
        {"log", f32, least, 0, float(std::log(least))},
        {"log", f32, -0.0, 0, -inf},
        {"log", f32, -1, 0, nan},
        {"log", f64, 1, 0, 0},
        {"pow", f32, 13, 1, 13},
        {"pow", f64, 13, 1, 13},
        {"pow", f64, 3, 33, 5559060566555523},
        {"pow", f32, -0.0, -3, -inf},
        {"pow", f32, -0.0, -2, inf},
        {"pow", f64, -0.0, 3, -0.0},
        {"pow", f32, 0x1p-132, 0.5, 0x1p-66},
        {"pow", f32, 2, -149, least},
        {"pow", f32, nan, 0, 1},
        {"pow", f32, 1, nan, 1},
        {"pow", f32, -1, inf, 1},
        {"pow", f64, -inf, 0.5, inf},
        {"pow", f64, -inf, -3, -0.0},
        {"pow", f64, -8, 1 / 3.0, nan},
        {"pow", f64, -2, 3, -8},
        {"pow", f64, 0.5, -inf, inf},
        {"%", f64, 1e308, 0.5, 0},
        {"%", f64, 5, inf, 5},
        {"%", f64, -5, inf, inf},
        {"%", f32, -5, 3, 1},
        {"%", f32, 5, -3, -1},
        {"%", f32, -5, -3, -2},
        {"%", f32, -6, 3, 0},
        {"%", f32, 6, -3, -0.0},
        {"%", f32, -1e-20, 1, 1},
        {"%", f32, 1, 0, nan},
        {"%", f32, inf, 1, nan},
        {"%", f64, 1, nan, nan},
        {"%", f32, 0x1.fffffep+127, 3 * least, 0},
        {"sin", f64, 1e22, 0, -0.8522008497671888},
        {"sin", f32, -0.0, 0, -0.0},
        {"sin", f64, inf, 0, nan},
        {"cos", f64, 0, 0, 1},
        {"tan", f32, least, 0, least},
        {"atan2", f64, 0.0, -1, pi},
        {"atan2", f64, -0.0, -0.0, -pi},
        {"atan2", f64, -0.0, 0, -0.0},
        {"atan2", f64, inf, -inf, 3 * pi / 4},
        {"atan2", f64, 1, -inf, pi},
        {"atan2", f64, -1, 0, -pi / 2},
        {"atan", f64, -inf, 0, -pi / 2},
        {"asin", f64, -1, 0, -pi / 2},
        {"acos", f64, 1, 0, 0},
        {"acos", f64, 1.5, 0, nan},
        {"tanh", f32, -inf, 0, -1},
        {"tanh", f64, -5e-324, 0, -5e-324},
        {"cosh", f32, -inf, 0, inf},
        {"sinh", f32, -inf, 0, -inf},
        {"erf", f32, -inf, 0, -1},
        {"erf", f64, 6, 0, 1},
        {"acosh", f32, 1, 0, 0},
        {"acosh", f32, 0.5, 0, nan},
        {"atanh", f32, -1, 0, -inf},
        {"atanh", f32, 2, 0, nan},
        {"asinh", f64, -inf, 0, -inf},
    };
    for (auto &c : cases) {
        double v = value(c.name, c.type, c.x, c.y);
        bool same = std::isnan(c.is) ? std::isnan(v) : v == c.is && std::signbit(v) == std::signbit(c.is);
        CHECK_MESSAGE(same, c.name << "(" << c.x << ", " << c.y << ") = " << v << ", not " << c.is);
    }
}
