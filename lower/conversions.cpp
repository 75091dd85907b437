#include "lower/conversions.h"
#include "lang/types.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::reinterpret;
using Halide::strict_float;
using Halide::Target;

namespace {

Expr number(const Type &t, uint64_t bits) { return make_const(t, bits); }
Type bits_of(const Type &t) { return Halide::UInt(t.bits(), t.lanes()); }
Type with_lanes(const Type &element, const Type &t) { return element.with_lanes(t.lanes()); }

// IEEE 754's interchange formats: the sign, the exponent, `fraction` bits.
struct Format {
    int bits, fraction;
    uint64_t sign() const { return uint64_t(1) << (bits - 1); }
    uint64_t infinity() const { return (sign() - 1) >> fraction << fraction; }
    uint64_t nan() const { return infinity() | uint64_t(1) << (fraction - 1); }
};
constexpr Format half{16, 10}, single{32, 23}, wide{64, 52};

Format format_of(const Type &t) { return t.bits() == 16 ? half : t.bits() == 32 ? single
                                                                                : wide; }

class MakeConversionsExact : public IRMutator {
    const bool has_half;
    int names = 0;
    using IRMutator::visit;

    // f of a name for x.
    template <class F>
    Expr named(const Expr &x, F f) {
        if (x.as<Variable>()) return f(x);
        std::string name = "exact." + std::to_string(names++);
        return Let::make(name, x, f(Variable::make(x.type(), name)));
    }

    // float16 to float32, float32 to float64.
    Expr widened(const Type &t, const Expr &x) {
        const Format from = format_of(x.type()), to = format_of(t);
        const Type bits = bits_of(t);
        Expr own = reinterpret(bits_of(x.type()), x), sign = cast(bits, own & number(own.type(), from.sign())),
             rest = cast(bits, own & number(own.type(), from.sign() - 1));
        Expr placed = rest << number(bits, uint64_t(to.fraction - from.fraction));
        Expr special = sign << number(bits, uint64_t(to.bits - from.bits)) | number(bits, to.infinity()) | placed;
        Expr is_special = rest >= number(bits, from.infinity());
        if (t.bits() == 64 || has_half) return select(is_special, reinterpret(t, special), cast(t, x));
        // A subnormal number is its fraction times 2^-24.
        Expr subnormal = reinterpret(bits, strict_float(cast(t, cast(Halide::Int(32, t.lanes()), rest)) *
                                                        make_const(t, 0x1p-24)));
        Expr finite = select(rest < number(bits, uint64_t(1) << from.fraction), subnormal,
                             placed + number(bits, uint64_t(127 - 15) << to.fraction));
        return reinterpret(t, select(is_special, special, finite | sign << number(bits, uint64_t(to.bits - from.bits))));
    }

    // float64 to float32, float32 to float16. `beyond`: from there on a value rounds to infinity.
    Expr narrowed(const Type &t, const Expr &x) {
        const Format from = format_of(x.type()), to = format_of(t);
        const uint64_t beyond = to.bits == 32 ? 0x47effffff0000000 : 0x477ff000;
        const Type bits = bits_of(x.type()), result = bits_of(t);
        Expr own = reinterpret(bits, x), rest = own & number(bits, from.sign() - 1);
        Expr sign = cast(result, own >> number(bits, uint64_t(from.bits - to.bits))) & number(result, to.sign());
        Expr special = sign | select(rest > number(bits, from.infinity()), number(result, to.nan()),
                                     number(result, to.infinity()));
        Expr is_special = rest >= number(bits, beyond);
        if (to.bits == 32 || has_half) return select(is_special, reinterpret(t, special), cast(t, x));
        // Below 2^-14 the fraction is in units of 2^-24, which is the last place of a sum with 0.5.
        Type f = x.type();
        Expr subnormal = reinterpret(bits, strict_float(reinterpret(f, rest) + make_const(f, 0.5))) - number(bits, 0x3f000000);
        Expr finite = select(rest < number(bits, 0x38800000), subnormal,
                             rounded(rest, from.fraction - to.fraction) - number(bits, uint64_t(127 - 15) << to.fraction));
        return reinterpret(t, select(is_special, special, sign | cast(result, finite)));
    }

    // x / 2^places, to nearest even.
    static Expr rounded(const Expr &x, int places) {
        const Type t = x.type();
        Expr shift = number(t, uint64_t(places)), one = number(t, 1);
        return (x + number(t, (uint64_t(1) << (places - 1)) - 1) + ((x >> shift) & one)) >> shift;
    }

    static Expr from_brain(const Expr &x) {
        const Type bits = with_lanes(u32, x.type());
        return reinterpret(with_lanes(f32, x.type()),
                           cast(bits, reinterpret(with_lanes(u16, x.type()), x)) << number(bits, 16));
    }
    static Expr to_brain(const Type &t, const Expr &x) {
        const Type bits = with_lanes(u32, t);
        Expr own = reinterpret(bits, x);
        Expr is_nan = (own & number(bits, single.sign() - 1)) > number(bits, single.infinity());
        return reinterpret(t, cast(with_lanes(u16, t), select(is_nan, number(bits, 0x7fc0), rounded(own, 16))));
    }

    // One step of a conversion between floats of different formats.
    Expr step(const Type &t, const Expr &value) {
        return named(value, [&](const Expr &x) {
            if (x.type().is_bfloat()) return from_brain(x);
            if (t.is_bfloat()) return to_brain(t, x);
            return t.bits() > x.type().bits() ? widened(t, x) : narrowed(t, x);
        });
    }

    Expr visit(const Cast *c) override {
        Expr x = mutate(c->value);
        const Type single_ = with_lanes(f32, c->type);
        if (x.type().is_float() && x.type().bits() == 16 && c->type != x.type()) x = step(single_, x);
        if (c->type == x.type()) return x;
        if (!c->type.is_float()) return cast(c->type, x);
        const bool to_16_bits = c->type.bits() == 16;
        if (!x.type().is_float()) return to_16_bits ? step(c->type, cast(single_, x)) : cast(c->type, x);
        if (to_16_bits && x.type().bits() == 64) x = step(single_, x);
        return step(c->type, x);
    }

public:
    explicit MakeConversionsExact(const Target &t)
        : has_half(t.has_feature(Target::F16C) || t.has_feature(Target::ARMFp16)) {}
};

}  // namespace

IRMutator *make_conversions_exact(const Target &t) { return new MakeConversionsExact(t); }

}  // namespace stretto
