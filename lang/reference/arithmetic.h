// Arithmetic of the reference on values of one type. Integers wrap; division and remainder are
// Euclidean, by zero they give 0.
#pragma once
#include <cmath>
#include <limits>
#include "lang/error.h"
#include "lang/reference/values.h"

namespace stretto::interpreter {

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

inline float widen(Half x) {
    return half_value(x.bits);
}
inline float widen(Brain x) {
    return brain_value(x.bits);
}
template <class T>
T widen(T x) {
    return x;
}

// Integers of all widths modulo 2^64; what is kept of the result is the same.
template <class T>
uint64_t wrapping(T x) {
    return Value::of(x).bits;
}

template <class T>
T add(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    else return T(wrapping(a) + wrapping(b));
}
template <class T>
T subtract(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    else return T(wrapping(a) - wrapping(b));
}
template <class T>
T multiply(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    else return T(wrapping(a) * wrapping(b));
}
template <class T>
T divide(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a / b;
    else {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return subtract(T(0), a);
            T q = T(a / b), r = T(a % b);
            return r >= 0 ? q : T(b > 0 ? q - 1 : q + 1);
        } else return T(a / b);
    }
}
template <class T>
T remainder(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) throw Error("reference: no definition of % of floats");
    else return b == 0 ? T(0) : subtract(a, multiply(divide(a, b), b));
}

// NaN if either is NaN, else with -0 < +0: the language's maximum and minimum, in any order the same.
template <class T>
T maximum(T a, T b) {
    if constexpr (is_narrow_float<T>) {
        float x = widen(a), y = widen(b);
        return std::isnan(x) ? a : std::isnan(y) ? b
                               : x == y          ? (std::signbit(x) ? b : a)
                               : x > y           ? a
                                                 : b;
    } else if constexpr (std::is_floating_point_v<T>) {
        return std::isnan(a) ? a : std::isnan(b) ? b
                               : a == b          ? (std::signbit(a) ? b : a)
                               : a > b           ? a
                                                 : b;
    } else return a > b ? a : b;
}
template <class T>
T minimum(T a, T b) {
    if constexpr (is_narrow_float<T>) {
        float x = widen(a), y = widen(b);
        return std::isnan(x) ? a : std::isnan(y) ? b
                               : x == y          ? (std::signbit(x) ? a : b)
                               : x < y           ? a
                                                 : b;
    } else if constexpr (std::is_floating_point_v<T>) {
        return std::isnan(a) ? a : std::isnan(b) ? b
                               : a == b          ? (std::signbit(a) ? a : b)
                               : a < b           ? a
                                                 : b;
    } else return a < b ? a : b;
}

// `op` in type t. Throws an Error for arithmetic in 16-bit floats, which the language does in float32.
Value combine(ReduceOp op, const Type &t, Value a, Value b);
// What changes nothing: 0, 1, the lowest and the highest value.
Value neutral(ReduceOp op, const Type &t);

}  // namespace stretto::interpreter
