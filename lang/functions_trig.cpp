// sin, cos and tan. The operand is reduced by Payne and Hanek's method (Radian reduction for trigonometric functions, SIGNUM
// Newsletter 1983): x * 2/pi modulo 4, of which only those bits of 2/pi are used that matter.
// Polynomials are Chebyshev interpolants (mpmath's chebyfit, 60 digits).
#include "lang/formula.h"
#include "lang/functions.h"

namespace stretto::functions {

using Halide::cast;
using Halide::Internal::make_const;

namespace {

// |x| = quadrant * pi/2 + angle; the quadrant modulo 4 as an unsigned integer, the angle a pair in f64.
struct Reduced {
    Expr quadrant;
    Pair angle;
};

// Of finite x >= 0 that was an f32: 24 bits times 24 bits of 2/pi are exact in f64. Products from 2^50 on are multiples of 4.
Reduced reduce_f32(Steps &s, const Expr &x) {
    static const double chunks[] = {0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041};
    Expr fraction = constant(f64, 0), quadrant = unsigned_constant(f64, 0);
    double unit = 1;
    for (double chunk : chunks) {
        unit *= 0x1p-24;
        Expr product = s(x * constant(f64, chunk * unit));
        product = s(select(product < constant(f64, 0x1p50), product, constant(f64, 0)));
        Rounded n = rounded(s, product);
        fraction = s(fraction + (product - n.value));
        Rounded m = rounded(s, fraction);
        fraction = s(fraction - m.value);
        quadrant = s(quadrant + (n.integer + m.integer));
    }
    return {quadrant, {s(fraction * constant(f64, 0x1.921fb54442d18p+0)), {}}};
}

// 54 zeros and the first bits of 2/pi.
constexpr uint64_t two_over_pi[] = {
    0x000000000000028b, 0xe60db9391054a7f0, 0x9d5f47d4d377036d, 0x8a5664f10e4107f9, 0x458eaf7aef1586dc, 0x91b8e909374b8019,
    0x24bba827464873f8, 0x77ac72c4a69cfba2, 0x08d7d4baed1213a6, 0x71c09ad17df904e6, 0x4758e60d4ce7d272, 0x117e2ef7e4a0ec7f,
    0xe25fff7816603fbc, 0xbc462d6829b47db4, 0xd9fb3c9f2c26dd3d, 0x18fd9a797fa8b5d4, 0x9eeb1faf97c5ecf4, 0x1ce7de294a4ba9af,
    0xed7ec47e35742158};

// Of x >= 1 in f64: x = M 2^e, and M times the 192 bits from the one of weight 2^(1 - e) on, modulo 2^192.
Reduced reduce_f64(Steps &s, const Expr &x) {
    auto u = [](uint64_t v) { return make_const(u64, v); };
    const Expr low32 = u(0xffffffff);
    Expr start = s((bits(x) >> 52) - u(1075 + 2 - 54)), within_word = s(start & u(63));  // e - 2 + 54
    // The words from start / 64 on: a shift by 8 words, or none; by 4, 2, 1.
    std::vector<Expr> words;
    for (uint64_t w : two_over_pi) words.push_back(u(w));
    for (int step : {8, 4, 2, 1}) {
        Expr shift = s((start & u(uint64_t(64 * step))) != u(0));
        std::vector<Expr> next;
        for (int k = 0; k < 3 + step; k++) next.push_back(s(select(shift, words[size_t(k + step)], words[size_t(k)])));
        words = next;
    }
    std::vector<Expr> limbs;  // of 32 bits, the lowest first
    for (int k = 2; k >= 0; k--) {
        Expr w = s((words[size_t(k)] << within_word) | ((words[size_t(k + 1)] >> u(1)) >> (u(63) - within_word)));
        limbs.push_back(s(w & low32));
        limbs.push_back(s(w >> 32));
    }
    Expr significand = s((bits(x) & u((uint64_t(1) << 52) - 1)) | u(uint64_t(1) << 52));
    Expr low = s(significand & low32), high = s(significand >> 32), carry = u(0), of_high = u(0);
    std::vector<Expr> r;
    for (auto &limb : limbs) {
        Expr of_low = s(low * limb), total = s((of_low & low32) + (of_high & low32) + carry);
        carry = s((total >> 32) + (of_low >> 32) + (of_high >> 32));
        of_high = s(high * limb);
        r.push_back(s(total & low32));
    }
    // Two bits of quadrant, then the fraction: from 1/2 on, the next quadrant and the complement.
    Expr up = s((r[5] >> 29) & u(1)), flipped = s((u(0) - up) & low32);
    auto part = [&](int k, uint64_t mask, double unit) {
        Expr limb = ((r[size_t(k)] ^ flipped) & u(mask)) | bits(constant(f64, 0x1p52));
        return s((float_of(limb) - constant(f64, 0x1p52)) * constant(f64, unit));
    };
    Pair first = ordered_sum(s, part(5, 0x3fffffff, 0x1p-30), part(4, 0xffffffff, 0x1p-62));
    Pair turns = ordered_sum(s, first.high, s((first.low + part(3, 0xffffffff, 0x1p-94)) + part(2, 0xffffffff, 0x1p-126)));
    Pair angle = product(s, turns, {constant(f64, 0x1.921fb54442d18p+0), constant(f64, 0x1.1a62633145c07p-54)});
    Expr sign = s(up << 63);
    auto turned = [&](const Expr &e) { return s(float_of(bits(e) ^ sign)); };
    return {s((r[5] >> 30) + up), {turned(angle.high), turned(angle.low)}};
}

struct Circle {
    Expr sin, cos;
};
Circle circle(Steps &s, const Pair &angle) {
    Expr r = angle.high, z = s(r * r);
    if (!angle.low.defined()) {  // for a result in f32: on |r| < 0.787
        // (sin(r) - r) / r^3, (cos(r) - 1 + r^2 / 2) / r^4 by r^2
        static const std::vector<double> sine = {-0x1.5555555458f67p-3, 0x1.11110de2ddb31p-7, -0x1.a01396fd185c8p-13,
                                                 0x1.6db8ab1fea483p-19},
                                         cosine = {0x1.55555555011d3p-5, -0x1.6c16bf4cae666p-10, 0x1.a015b96a25cf2p-16,
                                                   -0x1.2520b9507cc18p-22};
        return {s(r + r * z * polynomial(z, sine)), s((1 - constant(f64, 0.5) * z) + z * z * polynomial(z, cosine))};
    }
    // The same on |r| <= 1.
    static const std::vector<double> sine = {-0x1.5555555555555p-3, 0x1.11111111110fep-7, -0x1.a01a01a0152f1p-13,
                                             0x1.71de3a4e31debp-19, -0x1.ae644c2cdd42ep-26, 0x1.611ccf78fc9ap-33,
                                             -0x1.a8fc82fffdef5p-41},
                                     cosine = {0x1.5555555555555p-5, -0x1.6c16c16c16c0ep-10, 0x1.a01a01a017dc6p-16,
                                               -0x1.27e4fb7452ad4p-22, 0x1.1eed8a680a616p-29, -0x1.93908ead2033p-37,
                                               0x1.a9987b0a3bc7ap-45};
    Expr half = s(constant(f64, 0.5) * z), one = s(1 - half);
    Expr sin = r + (r * z * polynomial(z, sine) + angle.low * one);
    Expr cos = one + (((1 - one) - half) + (z * z * polynomial(z, cosine) - r * angle.low));
    return {s(sin), s(cos)};
}

// The function of sine, cosine and quadrant of |x|, NaN of infinities.
template <class F>
Expr of_circle(const Expr &operand, F f) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), a = s(magnitude(x)), finite = s(select(a < infinity(t), a, constant(t, 0)));
    Reduced reduced;
    if (t == f32) reduced = reduce_f32(s, s(cast(f64, finite)));
    else {
        Expr small = s(finite < 1);
        reduced = reduce_f64(s, finite);
        reduced.quadrant = s(select(small, make_const(u64, 0), reduced.quadrant));
        reduced.angle.high = s(select(small, finite, reduced.angle.high));
        reduced.angle.low = s(select(small, constant(f64, 0), reduced.angle.low));
    }
    Expr y = s(f(s, circle(s, reduced.angle), reduced.quadrant, s(sign_bit(x))));
    return s.result(select(a < infinity(t), y, quiet_nan(t)));
}

Expr odd(const Expr &quadrant) { return (quadrant & make_const(u64, 1)) == make_const(u64, 1); }
// x times -1 in the second half of the circle; with the sign of an f32 or f64 operand.
Expr signed_by(const Type &t, const Expr &x, const Expr &quadrant_bit, const Expr &sign) {
    Expr y = cast(t, x);
    return float_of(bits(y) ^ (cast(Halide::UInt(t.bits()), quadrant_bit & make_const(u64, 1)) << (t.bits() - 1)) ^ sign);
}

}  // namespace

Expr sin(const Expr &x) {
    return of_circle(x, [&](Steps &s, const Circle &c, const Expr &n, const Expr &sign) {
        return signed_by(x.type(), s(select(odd(n), c.cos, c.sin)), n >> 1, sign);
    });
}

Expr cos(const Expr &x) {
    return of_circle(x, [&](Steps &s, const Circle &c, const Expr &n, const Expr &) {
        return signed_by(x.type(), s(select(odd(n), c.sin, c.cos)), (n + 1) >> 1, unsigned_constant(x.type(), 0));
    });
}

Expr tan(const Expr &x) {
    return of_circle(x, [&](Steps &s, const Circle &c, const Expr &n, const Expr &sign) {
        Expr above = s(select(odd(n), c.cos, c.sin)), below = s(select(odd(n), c.sin, c.cos));
        return signed_by(x.type(), s(above / below), n, sign);
    });
}

}  // namespace stretto::functions
