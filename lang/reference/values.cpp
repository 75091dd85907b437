#include "lang/reference/values.h"
#include <cmath>
#include <limits>
#include <sstream>
#include "lang/error.h"

namespace stretto {

void unknown_type(const Type &t) {
    std::ostringstream o;
    o << "reference: no values of type " << t;
    throw Error(o.str());
}

// ---- 16-bit floats

uint16_t half_bits(float x) { return Halide::float16_t(x).to_bits(); }

float half_value(uint16_t bits) { return float(Halide::float16_t::make_from_bits(bits)); }

uint16_t brain_bits(float x) {
    uint32_t u = Value::of(x).as<uint32_t>();
    if ((u & 0x7fffffff) > 0x7f800000) return uint16_t(u >> 16 | 0x40);
    return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

float brain_value(uint16_t bits) {
    return Value::of(uint32_t(bits) << 16).as<float>();
}

// ---- casts

namespace {

template <class T>
constexpr bool is_16_bit_float = std::is_same_v<T, Half> || std::is_same_v<T, Brain>;

template <class To, class From>
To float_to_integer(From x) {
    if constexpr (std::is_same_v<To, bool>) {
        return x != 0;
    } else {
        using Wide = std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int32_t>), int32_t, int64_t>;
        const From limit = From(std::ldexp(1.0, 8 * sizeof(Wide) - 1));
        if constexpr (std::is_same_v<To, uint64_t>) {
            if (x >= limit && x < 2 * limit) return uint64_t(x);
        }
        // The comparison is false for NaN too. -limit itself converts; just below it is out of
        // range or truncates to it.
        if (!(x > -limit - 1 && x < limit)) return To(std::numeric_limits<Wide>::min());
        return To(Wide(x));
    }
}

template <class To, class From>
To convert(From x) {
    if constexpr (std::is_same_v<From, Half>) return convert<To>(half_value(x.bits));
    else if constexpr (std::is_same_v<From, Brain>) return convert<To>(brain_value(x.bits));
    else if constexpr (std::is_same_v<To, Half>) return Half{half_bits(float(x))};
    else if constexpr (std::is_same_v<To, Brain>) return Brain{brain_bits(float(x))};
    else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>)
        return float_to_integer<To>(x);
    else if constexpr (std::is_same_v<To, bool>) return x != 0;
    else return To(x);
}

}  // namespace

Value cast_value(Value v, const Type &from, const Type &to) {
    if (from == to) return v;
    return with_type(from, [&](auto f) {
        return with_type(to, [&](auto t) { return Value::of(convert<decltype(t)>(v.as<decltype(f)>())); });
    });
}

double to_double(Value v, const Type &t) {
    return with_type(t, [&](auto x) { return convert<double>(v.as<decltype(x)>()); });
}

// ---- tensors

HostTensor::HostTensor(Type t, std::vector<int64_t> b, std::vector<int64_t> e)
    : type(t), begin(std::move(b)), extent(std::move(e)) {
    bytes.resize(size_t(count()) * type.bytes());
}

int64_t HostTensor::count() const {
    int64_t n = 1;
    for (int64_t e : extent) n *= e;
    return n;
}

bool HostTensor::contains(const std::vector<int64_t> &index) const {
    if (index.size() != extent.size()) return false;
    for (size_t d = 0; d < index.size(); d++)
        if (index[d] < begin[d] || index[d] >= begin[d] + extent[d]) return false;
    return true;
}

int64_t HostTensor::position(const std::vector<int64_t> &index) const {
    int64_t p = 0;
    for (size_t d = 0; d < index.size(); d++) p = p * extent[d] + (index[d] - begin[d]);
    return p;
}

Value HostTensor::load(int64_t p) const {
    return with_type(type, [&](auto x) {
        std::memcpy(&x, bytes.data() + p * int64_t(sizeof x), sizeof x);
        return Value::of(x);
    });
}

void HostTensor::store(int64_t p, Value v) {
    with_type(type, [&](auto x) {
        x = v.as<decltype(x)>();
        std::memcpy(bytes.data() + p * int64_t(sizeof x), &x, sizeof x);
    });
}

bool same_bits(const HostTensor &a, const HostTensor &b) {
    if (a.type != b.type || a.begin != b.begin || a.extent != b.extent) return false;
    if (a.bytes == b.bytes) return true;
    for (int64_t p = 0; p < a.count(); p++) {
        bool both_nan = a.type.is_float() && std::isnan(a.get(p)) && std::isnan(b.get(p));
        if (!both_nan && a.load(p).bits != b.load(p).bits) return false;
    }
    return true;
}

}  // namespace stretto
