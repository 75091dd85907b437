// asin, acos, atan and atan2. Polynomials are Chebyshev interpolants of the function named beside them (mpmath's chebyfit,
// 60 digits), coefficients rounded to the type.
#include "lang/formula.h"
#include "lang/functions.h"

namespace stretto::functions {

namespace {

// pi/2 = high + low
Expr half_pi(const Type &t) { return constant(t, t.bits() == 64 ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0); }
Expr half_pi_low(const Type &t) { return constant(t, t.bits() == 64 ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25); }

// Of numerator / denominator in [0, 1]. Above tan(pi/8), atan(x) = pi/4 + atan((x - 1) / (x + 1)).
Expr atan_of_ratio(Steps &s, const Expr &x) {
    const Type t = x.type();
    Expr upper = s(x > constant(t, 0.41421356237309503));
    Expr r = s(select(upper, (x - 1) / (x + 1), x)), z = s(r * r);
    // (atan(r) - r) / r^3 by z = r^2 on [0, 0.1717]
    static const std::vector<double> c32 = {-0x1.555554p-2, 0x1.99973p-3, -0x1.241ffap-3, 0x1.b80b48p-4, -0x1.08351cp-4},
                                     c64 = {-0x1.5555555555555p-2, 0x1.9999999999953p-3, -0x1.249249248d768p-3,
                                            0x1.c71c71c2fe5d9p-4, -0x1.745d165cb83aap-4, 0x1.3b1392b641b06p-4,
                                            -0x1.110e858a72e28p-4, 0x1.e199da4156fd9p-5, -0x1.ac78ec6b8cb98p-5,
                                            0x1.74d64aa665b0ap-5, -0x1.1b2058fb5da3p-5, 0x1.0aa87c56e3eb5p-6};
    Expr y = s(r + r * z * polynomial(z, t.bits() == 64 ? c64 : c32)), half = constant(t, 0.5);
    return s(select(upper, half * half_pi(t) + (half * half_pi_low(t) + y), y));
}

// The angle in [0, pi/2] of a vector with these non-negative parts.
Expr first_quadrant(Steps &s, const Expr &y, const Expr &x) {
    const Type t = x.type();
    Expr steep = s(y > x), below = s(select(steep, y, x)), above = s(select(steep, x, y));
    Expr ratio = s(select(above == below, select(below == 0, constant(t, 0), constant(t, 1)), above / below));
    Expr angle = atan_of_ratio(s, ratio);
    return s(select(steep, half_pi(t) - (angle - half_pi_low(t)), angle));
}

// asin(r) of r in [0, 1/2]: (asin(r) - r) / r^3 by r^2 on [0, 0.2501]
Expr asin_small(Steps &s, const Expr &r) {
    static const std::vector<double> c32 = {0x1.55555ep-3, 0x1.33272cp-4, 0x1.70a7dp-5, 0x1.b3018ep-6, 0x1.3810d4p-5},
                                     c64 = {0x1.5555555555556p-3, 0x1.3333333332ec4p-4, 0x1.6db6db6e3292ep-5,
                                            0x1.f1c71c1d4aa0dp-6, 0x1.6e8bb1d89492bp-6, 0x1.1c4d343fa57f6p-6,
                                            0x1.c9cf3759fd8ffp-7, 0x1.78246f32d075cp-7, 0x1.524ea8b3aad31p-7,
                                            0x1.653a8f8cfd43cp-8, 0x1.1d661531b222ep-6, -0x1.e7a24f548c99fp-7,
                                            0x1.d78189767524ep-6};
    Expr z = s(r * r);
    return s(r + r * z * polynomial(z, r.type().bits() == 64 ? c64 : c32));
}

// Of |x| <= 1: large where above 1/2, and there asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
struct Arc {
    Expr large, angle;  // asin(|x|), or asin(sqrt((1 - |x|) / 2))
};
Arc arc(Steps &s, const Expr &a) {
    const Type t = a.type();
    Expr large = s(a > constant(t, 0.5)), rest = s(select(a < 1, constant(t, 0.5) * (1 - a), constant(t, 0)));
    return {large, asin_small(s, s(select(large, sqrt(rest), a)))};
}

Expr undefined_beyond_one(Steps &s, const Expr &x, const Expr &a, const Expr &y) {
    return s.result(select(a < 1 || a == 1, y, x != x, x, quiet_nan(x.type())));
}

}  // namespace

Expr atan(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand);
    return s.result(select(x == x, with_sign(first_quadrant(s, s(magnitude(x)), constant(t, 1)), sign_bit(x)), x));
}

Expr atan2(const Expr &ordinate, const Expr &abscissa) {
    Steps s;
    const Type t = ordinate.type();
    Expr y = s(ordinate), x = s(abscissa), angle = first_quadrant(s, s(magnitude(y)), s(magnitude(x)));
    Expr left = s(sign_bit(x) != unsigned_constant(t, 0));
    angle = s(select(left, 2 * half_pi(t) - (angle - 2 * half_pi_low(t)), angle));
    return s.result(select(x != x || y != y, quiet_nan(t), with_sign(angle, sign_bit(y))));
}

Expr asin(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), a = s(magnitude(x));
    Arc r = arc(s, a);
    Expr y = s(select(r.large, half_pi(t) - (2 * r.angle - half_pi_low(t)), r.angle));
    return undefined_beyond_one(s, x, a, with_sign(y, sign_bit(x)));
}

Expr acos(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    Expr x = s(operand), a = s(magnitude(x));
    Arc r = arc(s, a);
    Expr signed_angle = s(with_sign(r.angle, sign_bit(x)));
    Expr far = select(x < 0, 2 * half_pi(t) - (2 * r.angle - 2 * half_pi_low(t)), 2 * r.angle);
    Expr y = s(select(r.large, far, half_pi(t) - (signed_angle - half_pi_low(t))));
    return undefined_beyond_one(s, x, a, y);
}

}  // namespace stretto::functions
