// exp and what is made of it. Polynomials are Chebyshev interpolants of the function named beside them (mpmath's chebyfit in
// 60 digits, over the interval given), coefficients rounded to the type.
#include "lang/functions_exp.h"
#include "lang/functions.h"

namespace stretto::functions {

// Cody and Waite, Software Manual for the Elementary Functions (1980): n * high is exact.
ExpParts exp_parts(Steps &s, const Expr &x, const Expr &low, bool for_f32) {
    const Type t = x.type();
    const bool wide = t.bits() == 64;
    Rounded n = rounded(s, x * constant(t, 0x1.71547652b82fep+0));
    const double ln2_high = wide ? 0x1.62e42fefa38p-1 : 0x1.62e4p-1, ln2_low = wide ? 0x1.ef35793c7673p-45 : 0x1.7f7d1cp-20;
    Expr high = s(x - n.value * constant(t, ln2_high)), rest = n.value * constant(t, -ln2_low);
    if (low.defined()) rest = s(rest + low);
    ExpParts p;
    p.exponent = s(n.integer);
    p.reduced = s(high + rest);
    if (low.defined()) p.reduced_low = s(rest - (p.reduced - high));
    // (e^r - 1 - r) / r^2 on [-0.3466, 0.3466]
    static const std::vector<double> c32 = {0x1p-1, 0x1.5554dcp-3, 0x1.555518p-5, 0x1.120be8p-7, 0x1.6d12acp-10};
    static const std::vector<double> c64_for_f32 = {0x1.fffffffffff5bp-2, 0x1.555555676d8bep-3, 0x1.5555555cd1b5fp-5,
                                                    0x1.1110c5e981ab9p-7, 0x1.6c1684732b476p-10, 0x1.a15211e3cfdafp-13,
                                                    0x1.a1150a427a802p-16};
    static const std::vector<double> c64 = {0x1.0000000000001p-1, 0x1.5555555555556p-3, 0x1.5555555553d34p-5,
                                            0x1.1111111110933p-7, 0x1.6c16c1789e1a5p-10, 0x1.a01a01a80d78ap-13,
                                            0x1.a019b8c65274fp-16, 0x1.71de0cbe2df6bp-19, 0x1.2891d98b82edap-22,
                                            0x1.af3aa9a3b181ap-26};
    const auto &c = !wide ? c32 : (for_f32 ? c64_for_f32 : c64);
    p.square = s((p.reduced * p.reduced) * polynomial(p.reduced, c));
    p.fraction = s(p.reduced + p.square);
    return p;
}

Expr power_of_two(const Type &t, const Expr &n, int shift) {
    return float_of((n + unsigned_constant(t, uint64_t(exponent_bias(t) + shift))) << significand_bits(t));
}

Expr times_power_of_two(Steps &s, const Expr &p, const Expr &n, int shift) {
    const Type t = p.type();
    // Two normal powers: 2^n itself may be subnormal or infinite where the product is not. The first product is exact.
    Expr biased = s(n + unsigned_constant(t, uint64_t(2 * exponent_bias(t) + shift))), half = s(biased >> 1);
    return (p * float_of(half << significand_bits(t))) * float_of((biased - half) << significand_bits(t));
}

Expr exp(const Expr &operand) {
    Steps s;
    Expr x = s(within(s(operand), operand.type().bits() == 64 ? 746 : 104));
    ExpParts e = exp_parts(s, x);
    return s.result(times_power_of_two(s, s(1 + e.fraction), e.exponent));
}

namespace {

// e^x - 1 of x >= 0, times 2^shift: no cancellation but where 2^n is 1.
Expr exp_minus_one(Steps &s, const ExpParts &e, int shift = 0) {
    const Type t = e.fraction.type();
    Expr power = s(power_of_two(t, e.exponent, shift));
    return s((power - constant(t, shift ? 0.5 : 1)) + power * e.fraction);
}

}  // namespace

Expr tanh(const Expr &operand) {
    Steps s;
    Expr x = s(operand), a = s(at_most(magnitude(x), x.type().bits() == 64 ? 22 : 10));
    Expr e = exp_minus_one(s, exp_parts(s, s(a + a)));
    return s.result(with_sign(s(e / (e + 2)), sign_bit(x)));
}

Expr cosh(const Expr &operand) {
    Steps s;
    Expr x = s(operand), a = s(at_most(magnitude(x), x.type().bits() == 64 ? 712 : 91));
    ExpParts e = exp_parts(s, a);
    Expr half = s(times_power_of_two(s, s(1 + e.fraction), e.exponent, -1));
    return s.result(half + constant(x.type(), 0.25) / half);
}

Expr sinh(const Expr &operand) {
    Steps s;
    Expr x = s(operand), a = s(at_most(magnitude(x), x.type().bits() == 64 ? 712 : 91));
    ExpParts e = exp_parts(s, a);
    Expr half = s(times_power_of_two(s, s(1 + e.fraction), e.exponent, -1));
    Expr less = exp_minus_one(s, e, -1);
    Expr small = less + less / (2 * less + 1), large = half - constant(x.type(), 0.25) / half;
    return s.result(with_sign(s(select(a < 1, small, large)), sign_bit(x)));
}

// x * p(x^2) below 0.9; beyond, 1 - exp(-g(x)) with a polynomial for g(x) = -log(erfc(x)).
Expr erf(const Expr &operand) {
    Steps s;
    const Type t = operand.type();
    const bool wide = t.bits() == 64;
    Expr x = s(operand), a = s(at_most(magnitude(x), wide ? 6 : 4));
    // erf(x) / x by z = x^2 on [0, 0.81]
    static const std::vector<double> near32 = {0x1.20dd76p+0, -0x1.812744p-2, 0x1.ce2e5cp-4, -0x1.b815ccp-6, 0x1.55107p-8,
                                               -0x1.acd92ap-11, 0x1.65bfcp-14},
                                     near64 = {0x1.20dd750429b6dp+0, -0x1.812746b0379e3p-2, 0x1.ce2f21a042822p-4,
                                               -0x1.b82ce31273114p-6, 0x1.565bcd0a60cdcp-8, -0x1.c02db31c72a35p-11,
                                               0x1.f9a307176ef13p-14, -0x1.f4cf6a5de9cf3p-17, 0x1.b9b82879bf4f3p-20,
                                               -0x1.5d8926e69e361p-23, 0x1.e2ce2646d66cbp-27, -0x1.d2f667da9b81bp-31};
    Expr near = a * polynomial(s(a * a), wide ? near64 : near32);
    // -log(erfc(x)) on [0.9, 4]; in f64 on [0.9, 2.25] and [2.25, 6]
    static const std::vector<double> far32 = {-0x1.4e0356p-12, 0x1.2156d2p+0, 0x1.437e6cp-1, 0x1.c2eac2p-4, -0x1.b0fd8cp-6,
                                              0x1.381f9ap-8, -0x1.394e9ap-11, 0x1.834022p-15, -0x1.b90e7ap-20};
    static const std::vector<double> middle64 = {
        -0x1.07607c9ffe429p-27, 0x1.20dd76d60f265p+0, 0x1.45f2ee8700856p-1, 0x1.a4f814396ab0cp-4, -0x1.398c51cb96d25p-6,
        -0x1.8cd81cd37b19fp-13, 0x1.b3a533c6ac5afp-10, -0x1.1cc4e21236ca6p-11, -0x1.b24ead014c738p-16, 0x1.d0b309820c5b1p-14,
        -0x1.09a3aa56f37e4p-14, 0x1.82294d64df5b2p-16, -0x1.9a354da643186p-18, 0x1.46fc3faab69fep-20, -0x1.812cee7e24a36p-23,
        0x1.3e9fb6f66b0dbp-26, -0x1.4bbc27a76d60bp-30, 0x1.47ba0890d98d2p-35, 0, 0};
    static const std::vector<double> far64 = {
        0x1.d029cb2905b22p-19, 0x1.20da0ae5058fbp+0, 0x1.46130cfc6563cp-1, 0x1.a26493ab363e3p-4, -0x1.281d8267cfcd3p-6,
        -0x1.8623d1d7cce9bp-10, 0x1.77c7c07710a65p-9, -0x1.742e29a7d8401p-10, 0x1.fb280e38aa449p-12, -0x1.0d1dea821e996p-13,
        0x1.cdd408dc43654p-16, -0x1.4430ad2f78a47p-18, 0x1.7467b4ef50a9cp-21, -0x1.5b627dd9f303cp-24, 0x1.03484d2a7f94p-27,
        -0x1.2e731f8844eeep-31, 0x1.09a16ae16feb2p-35, -0x1.4a5c26bd37becp-40, 0x1.03469af2410b4p-45, -0x1.822637fc51a58p-52};
    Expr exponent;
    if (!wide) exponent = polynomial(a, far32);
    else {
        exponent = constant(t, 0);
        for (size_t k = far64.size(); k-- > 0;)
            exponent = exponent * a + select(a < constant(t, 2.25), constant(t, middle64[k]), constant(t, far64[k]));
    }
    ExpParts e = exp_parts(s, s(constant(t, 0) - exponent));
    Expr rest = power_of_two(t, e.exponent), far = 1 - (rest + rest * e.fraction);
    return s.result(with_sign(s(select(a < constant(t, 0.9), near, far)), sign_bit(x)));
}

}  // namespace stretto::functions
