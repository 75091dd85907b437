// The remainder of floats, by integers: a = A 2^i, b = B 2^j with integers A, B; a mod b = (A 2^(i - j) mod B) 2^j. The power
// of two modulo B is found by squaring (Knuth, The Art of Computer Programming 4.6.3).
#include "lang/formula.h"
#include "lang/functions.h"

namespace stretto::functions {

namespace {

using Halide::cast;
using Halide::Internal::make_const;

// Integers modulo B < 2^53.
struct Modulus {
    Expr value, inverse;  // 1 / B in f64
    Expr as_float(const Expr &x) const { return cast(f64, cast(i64, x)); }
    // x y mod B of x < 2^53, y < B. The quotient by f64, below 2^53, is off by less than 4 after three roundings and a cut;
    // the rest is right modulo 2^64.
    Expr product(Steps &s, const Expr &x, const Expr &y) const {
        Expr quotient = cast(u64, cast(i64, as_float(x) * as_float(y) * inverse)), b = cast(i64, value);
        Expr rest = s(cast(i64, x * y - quotient * value));
        rest = s(select(rest < 0, rest + 4 * b, rest));
        rest = s(select(rest < 2 * b, rest, rest - 2 * b));
        return s(cast(u64, select(rest < b, rest, rest - b)));
    }
};

}  // namespace

Expr remainder(const Expr &dividend, const Expr &divisor) {
    Steps s;
    const Type t = dividend.type();
    const int width = significand_bits(t);
    Expr a = s(dividend), b = s(divisor), p = s(magnitude(a)), q = s(magnitude(b));
    struct Parts {
        Expr significand, exponent;
    };
    auto parts = [&](const Expr &x) {
        Expr field = s(bits(x) >> width), low = bits(x) & unsigned_constant(t, (uint64_t(1) << width) - 1);
        Expr hidden = select(field == 0, unsigned_constant(t, 0), unsigned_constant(t, uint64_t(1) << width));
        return Parts{s(cast(u64, low | hidden)), s(cast(u64, select(field == 0, unsigned_constant(t, 1), field)))};
    };
    Parts A = parts(p), B = parts(q);
    Modulus m;
    m.value = s(select(B.significand == 0, make_const(u64, 1), B.significand));
    Expr float_value = s(m.as_float(m.value));
    m.inverse = s(1 / float_value);
    Expr less = s(p < q || q != q), shift = s(select(less, make_const(u64, 0), A.exponent - B.exponent));
    // 2^(shift / 2^squarings) is 2^31 at most; then it is squared.
    const int squarings = t.bits() == 64 ? 6 : 3;
    Expr one = select(m.value == 1, make_const(u64, 0), make_const(u64, 1));
    Expr power = m.product(s, s(make_const(u64, 1) << (shift >> squarings)), s(one));
    for (int k = squarings - 1; k >= 0; k--) {
        power = m.product(s, power, power);
        Expr twice = s(power << 1);
        power = s(select((shift >> k & 1) == 1, select(twice < m.value, twice, twice - m.value), power));
    }
    Expr r = cast(t, m.as_float(m.product(s, A.significand, power))) * (q / cast(t, float_value));
    r = s(select(less, p, r));
    r = select(r == 0 || sign_bit(a) == sign_bit(b), r, q - r);
    return s.result(select(!(p < infinity(t)) || !(q > 0), quiet_nan(t), b != b, b, with_sign(r, sign_bit(b))));
}

}  // namespace stretto::functions
