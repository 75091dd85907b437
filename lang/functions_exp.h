// e^x in parts, for the functions that are made of it.
#pragma once
#include "lang/formula.h"

namespace stretto::functions {

// e^x = 2^n * (1 + fraction), fraction in [-0.3, 0.42] with a relative error of 1 ulp.
struct ExpParts {
    Expr fraction;             // e^r - 1
    Expr exponent;             // n modulo 2^32 or 2^64
    Expr reduced;              // r = x - n * ln 2
    Expr reduced_low, square;  // what r was rounded by; e^r - 1 - r
};
// Of |x| <= 746, 105 in f32. low: what x was rounded by, or undefined, and then reduced_low is too. for_f32: in f64, to the
// accuracy that a result in f32 needs.
ExpParts exp_parts(Steps &, const Expr &x, const Expr &low = {}, bool for_f32 = false);

// p * 2^(n + shift), rounded once, for all n that occur.
Expr times_power_of_two(Steps &, const Expr &p, const Expr &n, int shift = 0);
// 2^(n + shift) where that is a normal float.
Expr power_of_two(const Type &, const Expr &n, int shift = 0);

}  // namespace stretto::functions
