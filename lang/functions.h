// Every mathematical function of the language, defined once as an expression of strict operations, so that neither a kernel
// nor the reference calls a C library: the same bits from every back end, scalar or vector, with fused multiply-adds or not.
//
// Operands are f32 or f64, two of them of one type; the result has their type. It is NaN if an operand is, but for pow.
// Each result is within 4 ulp (of the correctly rounded value, over the whole range, subnormal operands and results
// included; tests/lang/functions_accuracy.cpp has the measured bounds). Infinities, zeros and their signs are those of
// C99's Annex F. Whatever the operand, no conversion of a float to an integer is out of range.
#pragma once
#include "lang/types.h"

namespace stretto::functions {

Expr exp(const Expr &x);
Expr log(const Expr &x);                 // log(+-0) = -inf, log(x < 0) = NaN
Expr pow(const Expr &x, const Expr &y);  // pow(x, 0) = pow(1, y) = 1, NaN or not; exact where the result is a float
Expr sinh(const Expr &x);
Expr cosh(const Expr &x);
Expr tanh(const Expr &x);
Expr erf(const Expr &x);
Expr asinh(const Expr &x);
Expr acosh(const Expr &x);  // NaN below 1
Expr atanh(const Expr &x);  // atanh(+-1) = +-inf, NaN beyond
Expr sin(const Expr &x);    // of any finite operand, reduced with as many bits of 2 / pi as it needs; sin(inf) = NaN
Expr cos(const Expr &x);
Expr tan(const Expr &x);
Expr asin(const Expr &x);  // NaN beyond +-1
Expr acos(const Expr &x);  // NaN beyond +-1
Expr atan(const Expr &x);
Expr atan2(const Expr &y, const Expr &x);  // the angle of (x, y) in [-pi, pi]; atan2(+-0, -0) = +-pi

// a - b * floor(a / b) of real numbers: in [0, b) for b > 0, in (b, 0] for b < 0. Exact, but rounded once where the signs of
// a and b differ (-1e-20 % 1 = 1). Zero has the sign of b. 5 % inf = 5, -5 % inf = inf; a % 0 and inf % b are NaN.
Expr remainder(const Expr &a, const Expr &b);

}  // namespace stretto::functions
