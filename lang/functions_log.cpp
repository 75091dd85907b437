// log and what is made of it. The logarithm of a significand m in [sqrt(1/2), sqrt(2)) is that of (1 + q) / (1 - q),
// q = (m - 1) / (m + 1): 2 q + q^3 * (2/3 + 2/5 q^2 + ...) (Abramowitz and Stegun 4.1.27).
#include <cmath>
#include "lang/functions.h"
#include "lang/functions_exp.h"

namespace stretto::functions {

namespace {

constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;  // high * an exponent is exact in f64
constexpr double ln2_high32 = 0x1.62e4p-1, ln2_low32 = 0x1.7f7d1cp-20;           // in f32

// x = m * 2^exponent; of positive finite x.
struct Scaled {
    Expr fraction;  // m - 1
    Expr exponent;  // as a float
};
Scaled scaled(Steps &s, const Expr &x, bool maybe_subnormal = true) {
    const Type t = x.type();
    const int width = significand_bits(t), bias = exponent_bias(t);
    const int lift = t.bits() == 64 ? 54 : 25;
    Expr normal = x, lifted = constant(t, 0);
    if (maybe_subnormal) {
        Expr tiny = s(x < constant(t, std::ldexp(1.0, 1 - bias)));
        normal = s(select(tiny, x * constant(t, std::ldexp(1.0, lift)), x));
        lifted = s(select(tiny, constant(t, lift), constant(t, 0)));
    }
    Expr up = bits(constant(t, 1)) - bits(constant(t, t.bits() == 64 ? 0x1.6a09e667f3bcdp-1 : 0x1.6a09e6p-1));
    Expr biased = s((bits(normal) + up) >> width);
    Expr m = float_of(bits(normal) - (biased << width) + unsigned_constant(t, uint64_t(bias) << width));
    const double big = std::ldexp(1.0, width);
    Expr exponent = float_of(biased | bits(constant(t, big))) - constant(t, big + bias);
    return {s(m - 1), s(exponent - lifted)};
}

// (log((1 + q) / (1 - q)) - 2 q) / q^3 by q^2 on [0, 0.02945], Chebyshev interpolants (mpmath's chebyfit, 60 digits)
const std::vector<double> series32 = {0x1.555556p-1, 0x1.9999ecp-2, 0x1.245c38p-2, 0x1.ddd172p-3};
const std::vector<double> series64_for_f32 = {0x1.5555555564f23p-1, 0x1.999998ca9ec73p-2, 0x1.2493242f22b76p-2,
                                              0x1.c67ab529f564fp-3, 0x1.8c8edd9198f8ep-3};
const std::vector<double> series64 = {0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476ba1p-2,
                                      0x1.c71c72017a15cp-3, 0x1.745cf8f6c9119p-3, 0x1.3b1c38474d3eep-3,
                                      0x1.0fbe478772696p-3, 0x1.0c06cf14c641bp-3};

// Of positive finite x. As 2 q = f - q f with f = m - 1, the largest part is exact.
Expr log_of(Steps &s, const Expr &x, bool for_f32 = false) {
    const Type t = x.type();
    const bool wide = t.bits() == 64;
    Scaled m = scaled(s, x, !for_f32);
    const auto &series = !wide ? series32 : (for_f32 ? series64_for_f32 : series64);
    Expr f = m.fraction, q = s(f / (f + 2)), z = s(q * q), r = z * polynomial(z, series);
    Expr rest = q * (f - r) - m.exponent * constant(t, wide ? ln2_low : ln2_low32);
    return s(m.exponent * constant(t, wide ? ln2_high : ln2_high32) + (f - rest));
}

// log(x) as a pair, to 2^-65 of it: what a power with an exponent of 1000 needs.
Pair log_pair(Steps &s, const Expr &x) {
    const Type t = x.type();
    Scaled m = scaled(s, x);
    Expr f = m.fraction;
    Pair d = ordered_sum(s, constant(t, 2), f);
    Expr q = s(f / d.high);
    Pair back = exact_product(s, q, d.high);
    Expr q_low = s((((f - back.high) - back.low) - q * d.low) / d.high);
    Pair z = exact_product(s, q, q);
    z.low = s(z.low + 2 * q * q_low);
    std::vector<double> tail;
    for (int k = 1; k <= 11; k++) tail.push_back(2.0 / (2 * k + 3));
    Pair p = ordered_sum(s, constant(t, 0x1.5555555555555p-1), s(z.high * polynomial(z.high, tail)));
    p.low = s(p.low + constant(t, 0x1.5555555555555p-55));
    Pair cubic = product(s, product(s, z, p), {q, q_low});
    Pair log_m = sum(s, {s(2 * q), s(2 * q_low)}, cubic);
    return sum(s, {s(m.exponent * constant(t, ln2_high)), s(m.exponent * constant(t, ln2_low))}, log_m);
}

// log(1 + f) of f >= 0, finite.
Expr log_one_plus(Steps &s, const Expr &f) {
    Expr u = s(1 + f), lost = select(f < 1, f - (u - 1), 1 - (u - f));
    return s(log_of(s, u) + lost / u);
}

// Where x^2 is not needed: 2 x is the argument of the logarithm to the last bit.
double large(const Type &t) { return t.bits() == 64 ? 0x1p100 : 0x1p40; }

}  // namespace

Expr log(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), of_zero = select(x == 0, constant(t, -1) * infinity(t), quiet_nan(t));
    Expr finite = s(select(x > 0 && x < infinity(t), x, constant(t, 1)));
    Expr y = log_of(s, finite);
    return s.result(select(x > 0 && x<infinity(t), y, x> 0 || x != x, x, of_zero));
}

Expr asinh(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), a = s(magnitude(x)), is_large = s(a > constant(t, large(t)));
    Expr b = s(select(a < infinity(t), a, constant(t, 1))), c = s(select(is_large, constant(t, 1), b)), square = s(c * c);
    Expr y = log_one_plus(s, s(select(is_large, b, c + square / (1 + sqrt(1 + square)))));
    y = select(is_large, y + constant(t, ln2_high + ln2_low), y);
    return s.result(with_sign(s(select(a < infinity(t), y, a)), sign_bit(x)));
}

Expr acosh(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), is_large = s(x > constant(t, large(t))), regular = s(!(x < 1) && x < infinity(t));
    Expr b = s(select(regular, x, constant(t, 1))), c = s(select(is_large, constant(t, 1), b) - 1);
    Expr y = log_one_plus(s, s(select(is_large, b, c + sqrt(2 * c + c * c))));
    y = select(is_large, y + constant(t, ln2_high + ln2_low), y);
    return s.result(select(regular, y, x < 1, quiet_nan(t), x));
}

Expr atanh(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), a = s(magnitude(x)), regular = s(a < 1);
    Expr b = s(select(regular, a, constant(t, 0))), twice = s(b + b), rest = s(1 - b);
    Expr y = constant(t, 0.5) * log_one_plus(s, s(select(b < constant(t, 0.5), twice + twice * b / rest, twice / rest)));
    return s.result(with_sign(s(select(regular, y, a == 1, infinity(t), a != a, a, quiet_nan(t))), sign_bit(x)));
}

namespace {

// |x|^y of positive finite x: in f64 for f32, by pairs in f64.
Expr power_of_magnitude(Steps &s, const Expr &x, const Expr &y) {
    if (x.type().bits() == 32) {
        Expr t = s(within(s(cast(f64, y) * log_of(s, s(cast(f64, x)), true)), 105));
        ExpParts e = exp_parts(s, t, {}, true);
        Expr power = power_of_two(f64, e.exponent), r = s(power + power * e.fraction);
        return s(select(t > 89, infinity(f32), cast(f32, s(select(t > 89, constant(f64, 0), r)))));
    }
    Pair l = log_pair(s, x), t = exact_product(s, y, l.high);
    Expr bounded = s(within(t.high, 746)), low = s(select(bounded == t.high, t.low + y * l.low, constant(f64, 0)));
    ExpParts e = exp_parts(s, bounded, low);
    Pair one = ordered_sum(s, constant(f64, 1), e.reduced);
    return s(times_power_of_two(s, s(one.high + (one.low + (e.reduced_low + e.square))), e.exponent));
}

}  // namespace

Expr pow(const Expr &base, const Expr &exponent) {
    Steps s;
    const Type t = base.type();
    Expr x = s(base), y = s(exponent), a = s(magnitude(x)), b = s(magnitude(y)), zero = constant(t, 0), one = constant(t, 1);
    Expr inf = infinity(t), units = constant(t, t.bits() == 64 ? 0x1p52 : 0x1p23);  // from here on floats are integers
    // From 2^33 (2^65) on, every base but 1 overflows or underflows.
    Expr finite = s(select(a > 0 && a < inf, a, one)), bounded = s(within(y, t.bits() == 64 ? 0x1p65 : 0x1p33));
    Expr power = power_of_magnitude(s, finite, s(select(y != y, zero, bounded)));
    power = s(select(a == 0 || a == inf, select((y > 0) == (a > 0), inf, zero), power));
    Expr shifted = s(b + units), integral = s(!(b < units) || shifted - units == b);
    Expr unit = select(b < units, bits(shifted), b < 2 * units, bits(b), unsigned_constant(t, 0)) & unsigned_constant(t, 1);
    Expr negative = s(select(integral, unit << (t.bits() - 1), unsigned_constant(t, 0)) & sign_bit(x));
    Expr undefined = s(x < 0 && a < inf && !integral);
    Expr r = select(undefined, quiet_nan(t), with_sign(power, negative));
    return s.result(select(y == 0 || x == 1, one, x != x || y != y, quiet_nan(t), r));
}

}  // namespace stretto::functions
