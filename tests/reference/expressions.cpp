// Every operator and intrinsic that the reference walks, against Halide's compiled code, on all types.
#include <doctest/doctest.h>
#include "jit.h"
#include "lang/error.h"
#include "lang/expand.h"

using namespace stretto;
using namespace stretto::test;
using Halide::Internal::Call;

namespace {

// Floats in scalar and in vector code, which have functions of their own.
void compare(const std::string &what, const Formula &f, const std::vector<HostTensor> &operands) {
    HostTensor reference = by_reference(f, operands);
    for (int lanes : {1, 8}) {
        if (lanes == 1 && !operands[0].type.is_float()) continue;
        std::string d = difference(reference, by_jit(f, operands, lanes), operands);
        CHECK_MESSAGE(
            d == "", what << " of " << type_name(operands[0].type) << ", " << lanes << " lanes: " << d);
    }
}

Expr intrinsic(const Type &t, Call::IntrinsicOp op, const std::vector<Expr> &args) {
    return Call::make(t, op, args, Call::PureIntrinsic);
}

const std::vector<Type> integers = {i8, i16, i32, i64, u8, u16, u32, u64};

// Random bits, but without the quotients that overflow, which are undefined in C.
std::vector<HostTensor> integer_operands(const Type &t) {
    HostTensor a = random_bits(t, 4000, 10), b = random_bits(t, 4000, 11);
    for (int64_t i = 0; i < b.count(); i++) {
        if (i % 3 == 0) b.set(i, double(i % 17 - (t.is_int() ? 8 : 0)));  // small, zero among them
        if (t.is_int() && b.get(i) == -1) b.set(i, 1);
    }
    return {a, b};
}

}  // namespace

TEST_CASE("integer operators") {
    for (const Type &t : integers) {
        auto ab = integer_operands(t);
        compare(
            "a + b", [](auto &x) { return x[0] + x[1]; }, ab);
        compare(
            "a - b", [](auto &x) { return x[0] - x[1]; }, ab);
        compare(
            "a * b", [](auto &x) { return x[0] * x[1]; }, ab);
        compare(
            "a / b", [](auto &x) { return x[0] / x[1]; }, ab);
        compare(
            "a % b", [](auto &x) { return x[0] % x[1]; }, ab);
        compare(
            "a / 7", [](auto &x) { return x[0] / 7; }, ab);
        compare(
            "a % 7", [](auto &x) { return x[0] % 7; }, ab);
        compare(
            "max", [](auto &x) { return Halide::max(x[0], x[1]); }, ab);
        compare(
            "min", [](auto &x) { return Halide::min(x[0], x[1]); }, ab);
        compare(
            "a & b", [](auto &x) { return x[0] & x[1]; }, ab);
        compare(
            "a | b", [](auto &x) { return x[0] | x[1]; }, ab);
        compare(
            "a ^ b", [](auto &x) { return x[0] ^ x[1]; }, ab);
        compare(
            "~a", [](auto &x) { return ~x[0]; }, ab);
        compare(
            "a << 3", [](auto &x) { return x[0] << 3; }, ab);
        compare(
            "a >> 3", [](auto &x) { return x[0] >> 3; }, ab);
        compare(
            "a << b",
            [&](auto &x) { return x[0] << (Halide::cast(t.with_code(Type::UInt), x[1]) % t.bits()); },
            ab);
        compare(
            "a >> b",
            [&](auto &x) { return x[0] >> (Halide::cast(t.with_code(Type::UInt), x[1]) % t.bits()); },
            ab);
        compare(
            "absd", [](auto &x) { return Halide::absd(x[0], x[1]); }, ab);
        if (t.is_int()) compare(
            "abs", [](auto &x) { return Halide::abs(x[0]); }, ab);
        compare(
            "comparisons",
            [](auto &x) {
                return Halide::cast<int>(x[0] < x[1]) + 2 * Halide::cast<int>(x[0] <= x[1]) +
                       4 * Halide::cast<int>(x[0] == x[1]) + 8 * Halide::cast<int>(x[0] != x[1]) +
                       16 * Halide::cast<int>(x[0] > x[1]) + 32 * Halide::cast<int>(x[0] >= x[1]);
            },
            ab);
        compare(
            "logic",
            [](auto &x) {
                return Halide::select((x[0] < x[1] && x[0] != 3) || !(x[1] < 5), x[0], x[1]);
            },
            ab);
        compare(
            "popcount", [](auto &x) { return Halide::popcount(x[0]); }, ab);
        compare(
            "count_leading_zeros",
            [](auto &x) {
                return Halide::count_leading_zeros(
                    Halide::select(x[0] == 0, Halide::cast(x[0].type(), 1), x[0]));
            },
            ab);
        compare(
            "count_trailing_zeros",
            [](auto &x) {
                return Halide::count_trailing_zeros(
                    Halide::select(x[0] == 0, Halide::cast(x[0].type(), 1), x[0]));
            },
            ab);
        compare(
            "div_round_to_zero",
            [&](auto &x) {
                return intrinsic(t, Call::div_round_to_zero,
                                 {x[0], Halide::select(x[1] == 0, Halide::cast(t, 5), x[1])});
            },
            ab);
        compare(
            "mod_round_to_zero",
            [&](auto &x) {
                return intrinsic(t, Call::mod_round_to_zero,
                                 {x[0], Halide::select(x[1] == 0, Halide::cast(t, 5), x[1])});
            },
            ab);
    }
}

TEST_CASE("integer intrinsics that Halide defines by others") {
    for (const Type &t : integers) {
        auto ab = integer_operands(t);
        if (t.bits() <= 32) {
            compare(
                "widening_add", [](auto &x) { return Halide::widening_add(x[0], x[1]); }, ab);
            compare(
                "widening_mul", [](auto &x) { return Halide::widening_mul(x[0], x[1]); }, ab);
            compare(
                "widening_sub", [](auto &x) { return Halide::widening_sub(x[0], x[1]); }, ab);
            compare(
                "mul_shift_right",
                [&](auto &x) {
                    return Halide::mul_shift_right(x[0], x[1],
                                                   Halide::cast(t.with_code(Type::UInt), t.bits()));
                },
                ab);
            compare(
                "halving_add", [](auto &x) { return Halide::halving_add(x[0], x[1]); }, ab);
            compare(
                "saturating_add", [](auto &x) { return Halide::saturating_add(x[0], x[1]); }, ab);
            compare(
                "saturating_sub", [](auto &x) { return Halide::saturating_sub(x[0], x[1]); }, ab);
        }
        compare(
            "saturating_cast", [](auto &x) { return Halide::saturating_cast<int16_t>(x[0]); }, ab);
    }
    HostTensor weight = random_bits(u8, 4000, 12), zero = random_bits(u8, 4000, 13),
               one = random_bits(u8, 4000, 14);
    compare("lerp", [](auto &x) { return expand_functions(Halide::lerp(x[0], x[1], x[2])); }, {zero, one, weight});
}

TEST_CASE("float operators") {
    for (Type t : {f32, f64}) {
        std::vector<HostTensor> ab = {random_bits(t, 4000, 20), random_bits(t, 4000, 21)};
        std::swap_ranges(ab[1].bytes.begin(), ab[1].bytes.begin() + 16 * t.bytes(),
                         ab[1].bytes.begin() + 24 * t.bytes());
        auto strict = [&](const std::string &what, const Formula &f) {
            compare(
                what, [&](auto &x) { return Halide::strict_float(f(x)); }, ab);
        };
        strict("a + b", [](auto &x) { return x[0] + x[1]; });
        strict("a - b", [](auto &x) { return x[0] - x[1]; });
        strict("a * b", [](auto &x) { return x[0] * x[1]; });
        strict("a / b", [](auto &x) { return x[0] / x[1]; });
        strict("a * b + a", [](auto &x) { return x[0] * x[1] + x[0]; });
        strict("-a", [](auto &x) { return -x[0]; });
        strict("a < b", [](auto &x) { return x[0] < x[1]; });
        strict("a == b", [](auto &x) { return x[0] == x[1]; });
        strict("a < b || a == b", [](auto &x) { return x[0] < x[1] || x[0] == x[1]; });
        // Halide 21 compiles strict a <= b as !(b < a), which is true of NaN. Here it is what it is
        // everywhere else.
        CHECK(same_bits(by_reference([](auto &x) { return x[0] <= x[1]; }, ab),
                        by_reference([](auto &x) { return x[0] < x[1] || x[0] == x[1]; }, ab)));
        strict("a != b", [](auto &x) { return x[0] != x[1]; });
        strict("select", [](auto &x) { return Halide::select(x[0] < x[1], x[0], x[1] * 3); });
        strict("sqrt", [](auto &x) { return Halide::sqrt(x[0]); });
        // As programs have it: of vectors of f64 Halide 21 gives -0 for -0 on some processors.
        strict("abs", [](auto &x) { return expand_functions(Halide::abs(x[0])); });
        strict("floor", [](auto &x) { return Halide::floor(x[0]); });
        strict("ceil", [](auto &x) { return Halide::ceil(x[0]); });
        strict("trunc", [](auto &x) { return Halide::trunc(x[0]); });
        strict("round", [](auto &x) { return Halide::round(x[0]); });
        strict("cast", [](auto &x) { return Halide::cast<float>(x[0]) + Halide::cast<float>(x[1]); });
        strict("is_nan", [](auto &x) { return Halide::is_nan(x[0]); });
        strict("is_inf", [](auto &x) { return Halide::is_inf(x[0]); });
        strict("is_finite", [](auto &x) { return Halide::is_finite(x[0]); });
        strict("reinterpret", [&](auto &x) {
            Type u = Halide::UInt(t.bits());
            return Halide::reinterpret(
                t, Halide::reinterpret(u, x[0]) ^ (Halide::reinterpret(u, x[1]) & 1));
        });
    }
}

TEST_CASE("the language's maximum and minimum: NaN wins, and -0 < +0") {
    double nan = std::numeric_limits<double>::quiet_NaN();
    for (Type t : {f16, bf16, f32, f64}) {
        HostTensor a(t, {0}, {6}), b(t, {0}, {6});
        const double as[] = {1, nan, 3, -0.0, 0.0, 2}, bs[] = {nan, 2, 4, 0.0, -0.0, -2};
        for (int i = 0; i < 6; i++) a.set(i, as[i]), b.set(i, bs[i]);
        HostTensor high = by_reference([](auto &x) { return Halide::max(x[0], x[1]); }, {a, b});
        HostTensor low = by_reference([](auto &x) { return Halide::min(x[0], x[1]); }, {a, b});
        for (int i = 0; i < 2; i++) CHECK((std::isnan(high.get(i)) && std::isnan(low.get(i))));
        CHECK(high.get(2) == 4);
        CHECK(low.get(2) == 3);
        for (int i = 3; i < 5; i++)
            CHECK((!std::signbit(high.get(i)) && std::signbit(low.get(i)) && high.get(i) == 0));
        CHECK(high.get(5) == 2);
        CHECK(low.get(5) == -2);
    }
}

TEST_CASE("shared parts are computed once, and a Let's name hides an outer one") {
    using namespace Halide::Internal;
    HostTensor a = random_in(f32, 100, -1, 1, 40);
    auto name = [](const char *n) { return Variable::make(f32, n); };
    // let t = a in (let t = t + 1 in t * t) + t, with the inner t + 1 shared by both levels
    auto f = [&](auto &x) {
        Expr next = name("t") + 1.0f;
        return Let::make("t", x[0], Let::make("t", next, name("t") * next) + name("t") * next);
    };
    HostTensor out = by_reference(f, {a});
    for (int64_t i = 0; i < 100; i++) {
        float t = float(a.get(i));
        CHECK(out.get(i) == (t + 1) * (t + 1 + 1) + t * (t + 1));
    }
    // 2^60 evaluations if each use were walked by itself.
    auto doubled = [](auto &x) {
        Expr e = x[0];
        for (int k = 0; k < 60; k++) e = e + e;
        return e;
    };
    CHECK(by_reference(doubled, {a}).get(7) == a.get(7) * 0x1p60);
    // Likewise with Lets, where a part is used in the value and in the body of each.
    auto nested = [&](auto &x) {
        Expr e = x[0];
        for (int k = 0; k < 40; k++)
            e = Let::make("u" + std::to_string(k), e * 0.5f,
                          name(("u" + std::to_string(k)).c_str()) + e);
        return e;
    };
    CHECK(by_reference(nested, {a}).get(7) != 0);
}

TEST_CASE("what has no definition is an error that names it") {
    HostTensor a = random_in(f32, 4, 0, 1, 41), h = random_in(f16, 4, 0, 1, 42),
               n = random_bits(i32, 4, 43);
    auto message = [](const Formula &f, const HostTensor &x) -> std::string {
        try {
            by_reference(f, {x});
        } catch (const Error &e) {
            return e.what();
        }
        return "no error";
    };
    CHECK(message([](auto &x) { return Halide::exp(x[0]); }, a) ==
          "reference: no definition of exp_f32 of type float32");
    CHECK(message([](auto &x) { return Halide::fast_inverse(x[0]); }, a) ==
          "reference: no definition of fast_inverse_f32 of type float32");
    CHECK(message([](auto &x) { return x[0] + x[0]; }, h)
              .find("reference: arithmetic in float16, which the language does in float32: ") == 0);
    CHECK(message([](auto &x) { return x[0] << 40; }, n) ==
          "reference: a shift by 40 of a 32-bit integer is undefined");
    CHECK(message([](auto &x) { return x[0] * Halide::Internal::Variable::make(f32, "j"); }, a) ==
          "reference: nothing gives j a value");
    CHECK(message([](auto &x) { return x[0] * scalar_argument(f32, "lr"); }, a) ==
          "reference: scalar lr has no value");
    CHECK(message([](auto &x) { return x[0] * access(0, f32, {index("i") + 1}); }, a) ==
          "reference: rank 0 has no element (4) of node 0");
}
