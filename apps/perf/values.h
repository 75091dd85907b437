// Test data of float and of 16-bit floats: a function of rank and index, positive, exact in the type, so that no moment
// of an optimizer decays to a denormal and no conversion rounds.
#pragma once
#include <cstdint>
#include <cstring>

namespace perf {

enum class Element { Float,
                     Half,
                     Bfloat16 };

inline uint32_t mixed(int64_t i, int rank) {
    uint32_t x = uint32_t(i) * 0x9e3779b1u + uint32_t(rank + 1) * 0x85ebca77u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return x ^ x >> 13;
}

// In (0, 1].
template <Element>
float value(int rank, int64_t i);
template <>
inline float value<Element::Float>(int rank, int64_t i) {
    return float(int32_t(mixed(i, rank) >> 8) + 1) * 0x1p-24f;
}
template <>
inline float value<Element::Half>(int rank, int64_t i) {
    return float(int32_t(mixed(i, rank) >> 22) + 1) * 0x1p-10f;
}
template <>
inline float value<Element::Bfloat16>(int rank, int64_t i) {
    return float(int32_t(mixed(i, rank) >> 25) + 1) * 0x1p-7f;
}

inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

template <Element e>
void fill(void *data, int rank, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        float x = value<e>(rank, i);
        if (e == Element::Float) static_cast<float *>(data)[i] = x;
        // Normal numbers of both types: another exponent, fewer digits, of which the dropped ones are 0.
        else if (e == Element::Half)
            static_cast<uint16_t *>(data)[i] = uint16_t((bits_of(x) - ((127u - 15u) << 23)) >> 13);
        else static_cast<uint16_t *>(data)[i] = uint16_t(bits_of(x) >> 16);
    }
}

// The same with the type known at run time.
inline void fill(Element e, void *data, int rank, int64_t count) {
    if (e == Element::Float) fill<Element::Float>(data, rank, count);
    else if (e == Element::Half) fill<Element::Half>(data, rank, count);
    else fill<Element::Bfloat16>(data, rank, count);
}

inline float value(Element e, int rank, int64_t i) {
    return e == Element::Float  ? value<Element::Float>(rank, i)
           : e == Element::Half ? value<Element::Half>(rank, i)
                                : value<Element::Bfloat16>(rank, i);
}

// Which elements a check looks at: all of up to 2^22, every seventeenth or so of more.
inline int64_t check_stride(int64_t count) { return count <= int64_t(1) << 22 ? 1 : (count >> 20) | 1; }

}  // namespace perf
