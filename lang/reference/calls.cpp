// Calls inside expressions: mathematical functions and Halide's intrinsics.
#include <bitset>
#include "lang/reference/arithmetic.h"
#include "lang/reference/evaluate.h"

namespace stretto::interpreter {

using Halide::Internal::Call;

namespace {

// What IEEE 754 defines to the last bit. All other functions the language replaces by expressions before anybody sees them.
struct Unary {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
};
const Unary unary_functions[] = {
    {"sqrt", std::sqrt, std::sqrt},
    {"floor", std::floor, std::floor},
    {"ceil", std::ceil, std::ceil},
    {"trunc", std::trunc, std::trunc},
};

[[noreturn]] void unknown(const Call *c) {
    throw Error("reference: no definition of " + c->name + " of type " + type_name(c->type));
}

bool has_name(const Call *c, const std::string &base, const char *suffix) {
    return c->name == base + suffix;
}

Code ieee_function(const Call *c, const std::vector<Code> &args) {
    for (auto &u : unary_functions) {
        if (has_name(c, u.name, "_f32")) return unary<float>(args[0], u.f32);
        if (has_name(c, u.name, "_f64")) return unary<double>(args[0], u.f64);
    }
    return {};
}

Code constant_or_test(const Call *c, const std::vector<Code> &args) {
    for (auto &[suffix, t] : {std::pair{"_f16", f16}, {"_f32", f32}, {"_f64", f64}}) {
        double infinity = std::numeric_limits<double>::infinity(), x = 0;
        bool number = true;
        if (has_name(c, "inf", suffix)) x = infinity;
        else if (has_name(c, "neg_inf", suffix)) x = -infinity;
        else if (has_name(c, "nan", suffix)) x = std::numeric_limits<double>::quiet_NaN();
        else number = false;
        if (number) return code([v = cast_value(Value::of(x), f64, t)](Frame &) { return v; });
        Type from = args.empty() ? Type() : c->args[0].type();
        auto test = [&](auto f) {
            return code(
                [=, a = args[0]](Frame &r) { return Value::of(bool(f(to_double(a(r), from)))); });
        };
        if (has_name(c, "is_nan", suffix)) return test([](double a) { return std::isnan(a); });
        if (has_name(c, "is_inf", suffix)) return test([](double a) { return std::isinf(a); });
        if (has_name(c, "is_finite", suffix)) return test([](double a) { return std::isfinite(a); });
    }
    return {};
}

// Functions of floats that are exact, or rounded once.
template <class T>
Code float_intrinsic(const Call *c, const std::vector<Code> &args) {
    auto op = [&](auto f) { return binary<T>(args[0], args[1], f); };
    if (c->is_intrinsic(Call::strict_add)) return op([](T a, T b) { return a + b; });
    if (c->is_intrinsic(Call::strict_sub)) return op([](T a, T b) { return a - b; });
    if (c->is_intrinsic(Call::strict_mul)) return op([](T a, T b) { return a * b; });
    if (c->is_intrinsic(Call::strict_div)) return op([](T a, T b) { return a / b; });
    if (c->is_intrinsic(Call::round)) return unary<T>(args[0], [](T a) { return std::nearbyint(a); });
    return {};
}

// Comparisons and choices, for all floats.
template <class T>
Code float_choice(const Call *c, const std::vector<Code> &args) {
    auto op = [&](auto f) { return binary<T>(args[0], args[1], f); };
    if (c->is_intrinsic(Call::strict_max)) return op([](T a, T b) { return maximum(a, b); });
    if (c->is_intrinsic(Call::strict_min)) return op([](T a, T b) { return minimum(a, b); });
    if (c->is_intrinsic(Call::strict_lt)) return op([](T a, T b) { return widen(a) < widen(b); });
    if (c->is_intrinsic(Call::strict_le)) return op([](T a, T b) { return widen(a) <= widen(b); });
    if (c->is_intrinsic(Call::strict_eq)) return op([](T a, T b) { return widen(a) == widen(b); });
    if (c->is_intrinsic(Call::abs)) {
        if constexpr (is_narrow_float<T>)
            return unary<T>(args[0], [](T a) { return T{uint16_t(a.bits & 0x7fff)}; });
        else return unary<T>(args[0], [](T a) { return std::fabs(a); });
    }
    return {};
}

template <class T>
T shifted(T x, int64_t left) {
    const int bits = 8 * int(sizeof(T));
    if (left <= -bits || left >= bits)
        throw Error("reference: a shift by " + std::to_string(left) + " of a " + std::to_string(bits) +
                    "-bit integer is undefined");
    return left >= 0 ? T(wrapping(x) << left) : T(x >> -left);
}

// How many bits of x, from above or from below, come before one that is set.
template <class T>
T zeros(T x, bool from_above) {
    const int bits = 8 * int(sizeof(T));
    int n = 0;
    while (n < bits && !(wrapping(x) >> (from_above ? bits - 1 - n : n) & 1)) n++;
    return T(n);
}

template <class T>
Code integer_intrinsic(const Call *c, const std::vector<Code> &args) {
    auto op = [&](auto f) { return binary<T>(args[0], args[1], f); };
    if (c->is_intrinsic(Call::bitwise_and)) return op([](T a, T b) { return T(a & b); });
    if (c->is_intrinsic(Call::bitwise_or)) return op([](T a, T b) { return T(a | b); });
    if (c->is_intrinsic(Call::bitwise_xor)) return op([](T a, T b) { return T(a ^ b); });
    if constexpr (std::is_same_v<T, bool>) {
        if (c->is_intrinsic(Call::bitwise_not)) return unary<T>(args[0], [](T a) { return !a; });
    } else {
        if (c->is_intrinsic(Call::bitwise_not)) return unary<T>(args[0], [](T a) { return T(~a); });
        if (c->is_intrinsic(Call::shift_left) || c->is_intrinsic(Call::shift_right)) {
            int64_t sign = c->is_intrinsic(Call::shift_left) ? 1 : -1;
            Type t = c->args[1].type();
            return code([=, a = args[0], b = args[1]](Frame &r) {
                return Value::of(shifted(a(r).as<T>(), sign * cast_value(b(r), t, i64).as<int64_t>()));
            });
        }
        if (c->is_intrinsic(Call::div_round_to_zero))
            return op([](T a, T b) {
                return b == 0 ? T(0) : std::is_signed_v<T> && b == T(-1) ? subtract(T(0), a)
                                                                         : T(a / b);
            });
        if (c->is_intrinsic(Call::mod_round_to_zero))
            return op([](T a, T b) {
                return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
            });
        if (c->is_intrinsic(Call::popcount))
            return unary<T>(args[0], [](T a) { return T(std::bitset<8 * sizeof(T)>(wrapping(a)).count()); });
        if (c->is_intrinsic(Call::count_leading_zeros)) return unary<T>(args[0], [](T a) { return zeros(a, true); });
        if (c->is_intrinsic(Call::count_trailing_zeros)) return unary<T>(args[0], [](T a) { return zeros(a, false); });
        // Of signed integers, both are unsigned integers of the same width.
        if (c->is_intrinsic(Call::abs))
            return code([a = args[0], t = c->type](Frame &r) {
                T x = a(r).template as<T>();
                return cast_value(Value::of(x < T(0) ? subtract(T(0), x) : x), Halide::type_of<T>(), t);
            });
        if (c->is_intrinsic(Call::absd))
            return code([a = args[0], b = args[1], t = c->type](Frame &r) {
                T x = a(r).template as<T>(), y = b(r).template as<T>();
                return cast_value(Value::of(x < y ? subtract(y, x) : subtract(x, y)),
                                  Halide::type_of<T>(), t);
            });
    }
    return {};
}

}  // namespace

Expr simpler_call(const Call *c) {
    for (auto op :
         {Call::likely, Call::likely_if_innermost, Call::promise_clamped, Call::unsafe_promise_clamped})
        if (c->is_intrinsic(op)) return c->args[0];
    if (c->is_intrinsic(Call::return_second)) return c->args[1];
    for (auto op :
         {Call::widen_right_add, Call::widen_right_mul, Call::widen_right_sub, Call::widening_add,
          Call::widening_mul, Call::widening_sub, Call::widening_shift_left, Call::widening_shift_right,
          Call::halving_add, Call::halving_sub, Call::rounding_halving_add, Call::rounding_shift_left,
          Call::rounding_shift_right, Call::rounding_mul_shift_right, Call::mul_shift_right,
          Call::saturating_add, Call::saturating_sub, Call::saturating_cast, Call::sorted_avg})
        if (c->is_intrinsic(op)) return Halide::Internal::lower_intrinsic(c);
    if (c->is_intrinsic(Call::concat_bits)) return Halide::Internal::lower_concat_bits(c);
    if (c->is_intrinsic(Call::extract_bits)) return Halide::Internal::lower_extract_bits(c);
    return {};
}

Code compile_call(const Call *c, const std::vector<Code> &args) {
    Code result = ieee_function(c, args);
    if (!result.function) result = constant_or_test(c, args);
    if (!result.function && !args.empty()) {
        result = with_type(c->args[0].type(), [&](auto zero) -> Code {
            using T = decltype(zero);
            if constexpr (std::is_integral_v<T>) return integer_intrinsic<T>(c, args);
            else {
                Code x = float_choice<T>(c, args);
                if constexpr (std::is_floating_point_v<T>)
                    if (!x.function) x = float_intrinsic<T>(c, args);
                return x;
            }
        });
    }
    if (!result.function) unknown(c);
    return result;
}

}  // namespace stretto::interpreter
