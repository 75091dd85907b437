// Literals of type double in expressions, which Halide takes for int or float alike. Beside a float of any width a literal
// has that type, as in 0.5 * x(i); beside an integer, or alone, it is float64.
#pragma once
#include <type_traits>
#include "lang/types.h"

namespace stretto {

// The literal in the type of `beside`. Throws an Error where it is finite and that type would make it infinite.
Expr literal(double value, const Expr &beside);

// Only of what is a double: ints and floats are Halide's.
template <class T>
using IfDouble = std::enable_if_t<std::is_same_v<T, double>, int>;

#define STRETTO_WITH_LITERAL(F)                                        \
    template <class T, IfDouble<T> = 0>                                \
    Expr F(const Expr &a, T b) { return Halide::F(a, literal(b, a)); } \
    template <class T, IfDouble<T> = 0>                                \
    Expr F(T a, const Expr &b) { return Halide::F(literal(a, b), b); }
STRETTO_WITH_LITERAL(operator+)
STRETTO_WITH_LITERAL(operator-)
STRETTO_WITH_LITERAL(operator*)
STRETTO_WITH_LITERAL(operator/)
STRETTO_WITH_LITERAL(operator%)
STRETTO_WITH_LITERAL(operator<)
STRETTO_WITH_LITERAL(operator<=)
STRETTO_WITH_LITERAL(operator>)
STRETTO_WITH_LITERAL(operator>=)
STRETTO_WITH_LITERAL(operator==)
STRETTO_WITH_LITERAL(operator!=)
STRETTO_WITH_LITERAL(max)
STRETTO_WITH_LITERAL(min)
STRETTO_WITH_LITERAL(pow)
STRETTO_WITH_LITERAL(atan2)
#undef STRETTO_WITH_LITERAL

template <class T, IfDouble<T> = 0>
Expr clamp(const Expr &x, T low, T high) { return Halide::clamp(x, literal(low, x), literal(high, x)); }
template <class T, IfDouble<T> = 0>
Expr select(const Expr &c, const Expr &a, T b) { return Halide::select(c, a, literal(b, a)); }
template <class T, IfDouble<T> = 0>
Expr select(const Expr &c, T a, const Expr &b) { return Halide::select(c, literal(a, b), b); }
template <class T, IfDouble<T> = 0>
Expr select(const Expr &c, T a, T b) { return Halide::select(c, Expr(a), Expr(b)); }
template <class T, IfDouble<T> = 0>
Expr select(const Expr &c, int a, T b) { return select(c, double(a), b); }
template <class T, IfDouble<T> = 0>
Expr select(const Expr &c, T a, int b) { return select(c, a, double(b)); }

}  // namespace stretto
