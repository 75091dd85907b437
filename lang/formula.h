// What the definitions of functions are written with: named values, and the parts of a float. Of f32 or f64, as the operand.
#pragma once
#include <string>
#include <utility>
#include <vector>
#include "lang/types.h"

namespace stretto::functions {

// The values of a formula that are used more than once: Halide computes a part once only where it has a name.
//   Steps s; Expr y = s(x * x), r = s.result(y + y)   ->   let let.0 = strict(x * x) in strict(let.0 + let.0)
class Steps {
    std::vector<std::pair<std::string, Expr>> bound;

public:
    Expr operator()(const Expr &e);
    Expr result(const Expr &e) const;
};

// Of f32 and f64: bits of the significand without the leading one, and what is added to the exponent.
inline int significand_bits(const Type &t) { return t.bits() == 64 ? 52 : 23; }
inline int exponent_bias(const Type &t) { return t.bits() == 64 ? 1023 : 127; }

Expr constant(const Type &, double);             // of a float type
Expr unsigned_constant(const Type &, uint64_t);  // of the unsigned type as wide as a float type
Expr infinity(const Type &);
Expr quiet_nan(const Type &);

Expr bits(const Expr &x);  // as an unsigned integer of the same width
Expr float_of(const Expr &bits);
Expr magnitude(const Expr &x);                    // |x|
Expr sign_bit(const Expr &x);                     // of bits(x), alone
Expr with_sign(const Expr &x, const Expr &sign);  // of x >= 0

Expr at_most(const Expr &x, double bound);  // NaN stays
Expr within(const Expr &x, double bound);   // -bound <= x <= bound; NaN stays
// The low half of the significand of x cleared: high_part(x) * high_part(y) is exact, and so is x - high_part(x).
Expr high_part(const Expr &x);

// c[0] + z * (c[1] + z * (...))
Expr polynomial(const Expr &z, const std::vector<double> &c);

// The integer next to x (|x| < 2^21 in f32, 2^50 in f64), by the rounding of an addition: as a float, and modulo 2^32 or 2^64
// as an unsigned integer.
struct Rounded {
    Expr value, integer;
};
Rounded rounded(Steps &, const Expr &x);

// x = high + low, low below the last place of high.
struct Pair {
    Expr high, low;
};
Pair ordered_sum(Steps &, const Expr &a, const Expr &b);    // Dekker's; |a| >= |b|
Pair exact_product(Steps &, const Expr &a, const Expr &b);  // Dekker's
Pair sum(Steps &, const Pair &a, const Pair &b);            // |a| >= |b|
Pair product(Steps &, const Pair &a, const Pair &b);

}  // namespace stretto::functions
