// 16-bit floats: every float32 that matters becomes the one that Halide's compiled code gives, and
// back.
#include <doctest/doctest.h>
#include "jit.h"

#include <cmath>

using namespace stretto;
using namespace stretto::test;

namespace {

// float32 around every float16 and its rounding boundaries, and of random bits.
HostTensor floats() {
    HostTensor out(f32, {0}, {65536 * 6 + 50000});
    std::mt19937_64 random(1);
    int64_t k = 0;
    auto add = [&](uint32_t bits) { out.store(k++, Value::of(bits)); };
    for (uint32_t h = 0; h < 65536; h++) {
        uint32_t u = uint32_t(Value::of(half_value(uint16_t(h))).bits);
        for (uint32_t d : {0u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u}) add(u + d);
    }
    while (k < out.count()) add(uint32_t(random()));
    return out;
}

bool is_nan(const HostTensor &t, int64_t i) {
    return std::isnan(t.get(i));
}

}  // namespace

TEST_CASE("a float32 becomes the 16-bit float of Halide's compiled code") {
    HostTensor in = floats();
    for (Type t : {f16, bf16}) {
        // The compiled cast to bfloat16 loses NaNs whose payload is in the low bits: compare
        // numbers, and NaN by itself.
        Formula f = [&](auto &x) { return Halide::cast(t, x[0]); };
        HostTensor reference = by_reference(f, {in});
        for (int lanes : {1, 16}) {
            HostTensor jit = by_jit(f, {in}, lanes);
            int64_t numbers = 0;
            for (int64_t i = 0; i < in.count(); i++) {
                if (is_nan(in, i)) {
                    CHECK_MESSAGE(is_nan(reference, i), type_name(t) << " loses a NaN");
                    continue;
                }
                numbers++;
                if (reference.load(i).bits != jit.load(i).bits)
                    FAIL(type_name(t) << ", " << lanes << " lanes, of " << in.get(i) << ": "
                                      << reference.get(i) << " and " << jit.get(i));
            }
            CHECK(numbers > 400000);
        }
    }
}

TEST_CASE("a float64 becomes a 16-bit float by way of float32") {
    HostTensor in = floats(), wide(f64, {0}, in.extent);
    for (int64_t i = 0; i < in.count(); i++)
        wide.set(i, is_nan(in, i) ? 0 : in.get(i) * (1 + 0x1p-40 * int(i % 3 - 1)));
    for (Type t : {f16, bf16}) {
        HostTensor direct = by_reference([&](auto &x) { return Halide::cast(t, x[0]); }, {wide});
        // The difference keeps Halide from making one cast of two, which is compiled to one
        // rounding on some processors.
        Formula by_way = [&](auto &x) {
            return Halide::cast(t, Halide::strict_float(Halide::cast<float>(x[0]) - 0.0f));
        };
        CHECK(same_bits(direct, by_reference(by_way, {wide})));
        for (int lanes : {1, 16}) CHECK(difference(direct, by_jit(by_way, {wide}, lanes), {wide}) == "");
    }
}

TEST_CASE("every 16-bit float becomes the float32 of Halide's compiled code") {
    HostTensor bits(u16, {0}, {65536});
    for (int64_t i = 0; i < 65536; i++) bits.set(i, double(i));
    for (Type t : {f16, bf16}) {
        HostTensor in = bits;
        in.type = t;
        for (Type wide : {f32, f64}) {
            Formula f = [&](auto &x) { return Halide::cast(wide, x[0]); };
            HostTensor reference = by_reference(f, {in});
            for (int lanes : {1, 16}) CHECK(difference(reference, by_jit(f, {in}, lanes), {in}) == "");
            HostTensor back = by_reference([&](auto &x) { return Halide::cast(t, x[0]); }, {reference});
            CHECK(same_bits(in, back));
        }
    }
}

TEST_CASE("known conversions") {
    CHECK(half_bits(1.f) == 0x3c00);
    CHECK(half_bits(65504.f) == 0x7bff);
    CHECK(half_bits(65519.996f) == 0x7bff);
    CHECK(half_bits(65520.f) == 0x7c00);
    CHECK(half_bits(0x1p-24f) == 1);
    CHECK(half_bits(0x1p-25f) == 0);
    CHECK(half_bits(0x1.8p-24f) == 2);
    CHECK(half_bits(-0.f) == 0x8000);
    CHECK(brain_bits(1.f) == 0x3f80);
    CHECK(brain_bits(256 + 1.f) == brain_bits(256.f));  // ties to even
    CHECK(brain_bits(256 + 3.f) == brain_bits(260.f));
    CHECK(brain_bits(3.4e38f) == 0x7f80);
    CHECK(brain_value(brain_bits(264.f)) == 264.f);
}

TEST_CASE("integers from and to floats as Halide's compiled code converts them") {
    for (Type integer : {i8, i16, i32, i64, u8, u16, u32, u64}) {
        HostTensor bits = random_bits(integer, 5000, 3);
        for (Type t : {f16, bf16, f32, f64}) {
            Formula widen = [&](auto &x) { return Halide::cast(t, x[0]); };
            // 64-bit integers are rounded twice on the way to 16 bits, which compiled code need not do.
            if (t.bits() == 16 && integer.bits() > 32) continue;
            for (int lanes : {1, 8})
                CHECK_MESSAGE(
                    difference(by_reference(widen, {bits}), by_jit(widen, {bits}, lanes), {bits}) == "",
                    type_name(integer) << " to " << type_name(t));
        }
        double low = to_double(
            Value::of(integer.is_int() ? -int64_t(uint64_t(1) << (integer.bits() - 1)) : int64_t(0)),
            i64);
        double high = std::ldexp(0.999, integer.bits() - integer.is_int());
        for (Type t : {f32, f64}) {
            HostTensor in = random_in(t, 5000, low, high, 4);
            Formula narrow = [&](auto &x) { return Halide::cast(integer, x[0]); };
            for (int lanes : {1, 8})
                CHECK_MESSAGE(
                    difference(by_reference(narrow, {in}), by_jit(narrow, {in}, lanes), {in}) == "",
                    type_name(t) << " to " << type_name(integer));
        }
    }
}
