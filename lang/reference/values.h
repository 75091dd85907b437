// Values of the reference: one scalar of any type, and a tensor in memory. Nothing here depends on
// the rest of the language.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include "lang/types.h"

namespace stretto {

// A 16-bit float as its bits. There is no arithmetic on these: expressions widen first.
struct Half {
    uint16_t bits;
};
struct Brain {
    uint16_t bits;
};

// Conversions with rounding to nearest even; NaN stays NaN (Halide 21's bfloat16 conversion turns
// NaNs with some payloads into infinity or zero; all of the NaNs that arithmetic makes survive it).
uint16_t half_bits(float);
float half_value(uint16_t bits);
uint16_t brain_bits(float);
float brain_value(uint16_t bits);

// The scalar of one element. The type is known from the context (an expression's or a tensor's).
struct Value {
    uint64_t bits = 0;  // integers are sign- or zero-extended, floats in the low bytes

    template <class T>
    static Value of(T x) {
        Value v;
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) v.bits = x.bits;
        else if constexpr (std::is_floating_point_v<T>) std::memcpy(&v.bits, &x, sizeof x);
        else if constexpr (std::is_signed_v<T>) v.bits = uint64_t(int64_t(x));
        else v.bits = uint64_t(x);
        return v;
    }
    template <class T>
    T as() const {
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) return T{uint16_t(bits)};
        else if constexpr (std::is_floating_point_v<T>) {
            T x;
            std::memcpy(&x, &bits, sizeof x);
            return x;
        } else return T(bits);
    }
};

[[noreturn]] void unknown_type(const Type &);

// Calls f with a value-initialised object of the C++ type of t: bool, int8_t .. uint64_t, Half,
// Brain, float, double.
template <class F>
auto with_type(const Type &t, F &&f) {
    if (t == f32) return f(float());
    if (t == f64) return f(double());
    if (t == f16) return f(Half());
    if (t == bf16) return f(Brain());
    if (t == Halide::Bool()) return f(bool());
    if (t == i8) return f(int8_t());
    if (t == i16) return f(int16_t());
    if (t == i32) return f(int32_t());
    if (t == i64) return f(int64_t());
    if (t == u8) return f(uint8_t());
    if (t == u16) return f(uint16_t());
    if (t == u32) return f(uint32_t());
    if (t == u64) return f(uint64_t());
    unknown_type(t);
}

// A cast as Halide compiles it. Integers wrap. Floats to integers truncate; out of the target's
// range (the language leaves that undefined) the result is what x86's conversion to 32, or for
// 64-bit integers and uint32 to 64 bits gives: the lowest integer, then wrapped. Everything becomes
// a 16-bit float by way of float32.
Value cast_value(Value, const Type &from, const Type &to);

// The value as a double, rounded if it is a 64-bit integer. For comparisons and messages.
double to_double(Value, const Type &);

// A scalar with its type, for arguments: ScalarValue(3), ScalarValue(0.1f).
struct ScalarValue {
    Type type;
    Value value;
    ScalarValue() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
    ScalarValue(T x) : value(Value::of(x)) {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)  // long and long long are one type here
            type = std::is_signed_v<T> ? Halide::Int(8 * sizeof x) : Halide::UInt(8 * sizeof x);
        else type = Halide::type_of<T>();
    }
    ScalarValue(Type t, Value v) : type(t), value(v) {
    }
};

// A dense row-major tensor: elements begin[d] .. begin[d] + extent[d] - 1 of each dimension d, in
// global indices. A rank's part of a sliced tensor has its block's begin, every other tensor begin
// 0 and the whole extent.
struct HostTensor {
    Type type;
    std::vector<int64_t> begin, extent;
    std::vector<uint8_t> bytes;

    HostTensor() = default;
    HostTensor(Type, std::vector<int64_t> begin, std::vector<int64_t> extent);  // zeros

    int64_t count() const;
    bool contains(const std::vector<int64_t> &index) const;
    // The place of an index that the tensor contains.
    int64_t position(const std::vector<int64_t> &index) const;
    Value load(int64_t position) const;
    void store(int64_t position, Value);

    template <class T>
    T *data() {
        return reinterpret_cast<T *>(bytes.data());
    }
    template <class T>
    const T *data() const {
        return reinterpret_cast<const T *>(bytes.data());
    }
    // Element `position` as a double, and a double cast to the type.
    double get(int64_t position) const {
        return to_double(load(position), type);
    }
    void set(int64_t position, double x) {
        store(position, cast_value(Value::of(x), Halide::Float(64), type));
    }
};

// Same type, place and bits; NaNs are one value.
bool same_bits(const HostTensor &, const HostTensor &);

// f(index) for every index of the box, the last one fastest.
template <class F>
void for_each_index(const std::vector<int64_t> &begin, const std::vector<int64_t> &extent, F &&f) {
    std::vector<int64_t> index = begin;
    for (int64_t e : extent)
        if (e <= 0) return;
    while (true) {
        f(const_cast<const std::vector<int64_t> &>(index));
        int d = int(index.size()) - 1;
        while (d >= 0 && ++index[d] == begin[d] + extent[d]) index[d] = begin[d], d--;
        if (d < 0) return;
    }
}

}  // namespace stretto
