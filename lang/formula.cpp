#include "lang/formula.h"
#include <cmath>
#include <limits>
#include "lang/shared_parts.h"

namespace stretto::functions {

using namespace Halide::Internal;
using Halide::reinterpret;
using Halide::strict_float;

Expr Steps::operator()(const Expr &e) {
    if (e.as<Variable>()) return e;
    bound.push_back({new_let(), strict_float(e)});
    return Variable::make(e.type(), bound.back().first);
}

Expr Steps::result(const Expr &e) const {
    Expr r = strict_float(e);
    for (auto it = bound.rbegin(); it != bound.rend(); ++it) r = Let::make(it->first, it->second, r);
    return r;
}

Expr constant(const Type &t, double x) { return make_const(t, x); }
Expr unsigned_constant(const Type &t, uint64_t x) { return make_const(Halide::UInt(t.bits()), x); }
Expr infinity(const Type &t) { return make_const(t, std::numeric_limits<double>::infinity()); }
Expr quiet_nan(const Type &t) {
    return float_of(unsigned_constant(t, t.bits() == 64 ? uint64_t(0x7ff8000000000000) : uint64_t(0x7fc00000)));
}

namespace {
uint64_t sign_mask(const Type &t) { return uint64_t(1) << (t.bits() - 1); }
}  // namespace

Expr bits(const Expr &x) { return reinterpret(Halide::UInt(x.type().bits()), x); }
Expr float_of(const Expr &b) { return reinterpret(Halide::Float(b.type().bits()), b); }
Expr magnitude(const Expr &x) { return float_of(bits(x) & unsigned_constant(x.type(), sign_mask(x.type()) - 1)); }
Expr sign_bit(const Expr &x) { return bits(x) & unsigned_constant(x.type(), sign_mask(x.type())); }
Expr with_sign(const Expr &x, const Expr &sign) { return float_of(bits(x) | sign); }

Expr at_most(const Expr &x, double bound) {
    Expr b = constant(x.type(), bound);
    return select(x > b, b, x);
}
Expr within(const Expr &x, double bound) {
    Expr high = constant(x.type(), bound), low = constant(x.type(), -bound);
    return select(x > high, high, select(x < low, low, x));
}

Expr high_part(const Expr &x) {
    const int cleared = x.type().bits() == 64 ? 27 : 12;
    return float_of(bits(x) & unsigned_constant(x.type(), ~((uint64_t(1) << cleared) - 1) & (2 * sign_mask(x.type()) - 1)));
}

Expr polynomial(const Expr &z, const std::vector<double> &c) {
    Expr r = constant(z.type(), c.back());
    for (size_t k = c.size() - 1; k-- > 0;) r = r * z + constant(z.type(), c[k]);
    return r;
}

Rounded rounded(Steps &s, const Expr &x) {
    const double big = std::ldexp(1.5, significand_bits(x.type()));
    Expr shifted = s(x + constant(x.type(), big));
    return {s(shifted - constant(x.type(), big)), bits(shifted) - bits(constant(x.type(), big))};
}

Pair ordered_sum(Steps &s, const Expr &a, const Expr &b) {
    Expr high = s(a + b);
    return {high, s(b - (high - a))};
}

Pair exact_product(Steps &s, const Expr &a, const Expr &b) {
    Expr high = s(a * b), a1 = s(high_part(a)), a2 = s(a - a1), b1 = s(high_part(b)), b2 = s(b - b1);
    return {high, s(((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2)};
}

Pair sum(Steps &s, const Pair &a, const Pair &b) {
    Pair high = ordered_sum(s, a.high, b.high);
    return ordered_sum(s, high.high, s(high.low + (a.low + b.low)));
}

Pair product(Steps &s, const Pair &a, const Pair &b) {
    Pair p = exact_product(s, a.high, b.high);
    return ordered_sum(s, p.high, s(p.low + (a.high * b.low + a.low * b.high)));
}

}  // namespace stretto::functions
