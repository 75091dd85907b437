#include "lang/reference/arithmetic.h"

namespace stretto::interpreter {

Value combine(ReduceOp op, const Type &t, Value a, Value b) {
    return with_type(t, [&](auto zero) -> Value {
        using T = decltype(zero);
        T x = a.as<T>(), y = b.as<T>();
        if (op == Max) return Value::of(maximum(x, y));
        if (op == Min) return Value::of(minimum(x, y));
        if constexpr (is_narrow_float<T>) throw Error("reference: a reduction in " + type_name(t));
        else return Value::of(op == Sum ? add(x, y) : multiply(x, y));
    });
}

Value neutral(ReduceOp op, const Type &t) {
    return with_type(t, [&](auto zero) -> Value {
        using T = decltype(zero);
        if constexpr (is_narrow_float<T>) throw Error("reference: a reduction in " + type_name(t));
        else if constexpr (std::is_floating_point_v<T>) {
            T infinity = std::numeric_limits<T>::infinity();
            return Value::of(op == Sum ? T(0) : op == Prod ? T(1)
                                            : op == Max    ? -infinity
                                                           : infinity);
        } else {
            using Limits = std::numeric_limits<T>;
            return Value::of(op == Sum    ? T(0)
                             : op == Prod ? T(1)
                             : op == Max  ? Limits::lowest()
                                          : Limits::max());
        }
    });
}

}  // namespace stretto::interpreter
