#include "tests/random/random_expression.h"
#include <algorithm>

namespace stretto {

Expr some_integer(const Type &to, const Expr &x) {
    if (!x.type().is_float()) return Halide::cast(to, x);
    Expr wide = Halide::cast(x.type() == f64 ? f64 : f32, x);
    Expr fits = abs(wide) <= Halide::Internal::make_const(wide.type(), 100);
    Expr whole = select(fits, wide, Halide::Internal::make_const(wide.type(), 3));
    return Halide::cast(to, Halide::cast<int>(to.is_uint() ? abs(whole) : whole));
}

namespace {

class Chain {
    Draw &draw;
    OperationCounts &counts;
    const Surroundings &around;
    Type t;
    Expr e;

    // Halide's functions of a bfloat16 are float32.
    void did(const char *operation, const Expr &value) {
        counts[operation]++;
        e = Halide::cast(t, value);
    }
    Expr constant(double x) const {
        return Halide::Internal::make_const(t, x);
    }
    // A number from 0.25 to 2, or for integers from 1 to 8.
    Expr some_constant() {
        return constant(t.is_float() ? 0.25 * (1 + draw.below(8)) : 1 + draw.below(8));
    }
    Expr magnitude(const Expr &x) const {
        return t.is_uint() ? x : cast(t, abs(x));
    }
    Expr converted(const Expr &x) const {
        return x.type() == t                          ? x
               : x.type().is_float() && !t.is_float() ? some_integer(t, x)
                                                      : Halide::cast(t, x);
    }

    // One value for the whole call, from scalar arguments.
    Expr plan_scalar_expression() {
        counts["plan scalar"]++;
        Expr a = Halide::cast<double>(draw.pick(around.scalars)),
             b = Halide::cast<double>(draw.pick(around.scalars));
        Expr half(0.5), one(1.0);
        switch (draw.below(5)) {
        case 0: return converted(one / (abs(a) + half));
        case 1: return converted(one - a * half);
        case 2: return converted(sqrt(abs(a)) + half);
        case 3: return converted(pow(abs(b) + half, half));
        default: return converted(select(a < b, a, b));
        }
    }

    void float_step() {
        switch (draw.below(22)) {
        case 0: return did("negate", -e);
        case 1: return did("abs", abs(e));
        case 2: return did("sqrt", sqrt(abs(e)));
        case 3: return did("exp", exp(min(e, constant(2))));
        case 4: return did("log", log(abs(e) + constant(0.5)));
        case 5: return did("pow", pow(abs(e) + constant(0.5), constant(0.25 * (1 + draw.below(6)))));
        case 6: return did("erf", stretto::erf(e));
        case 7: return did("floor", floor(e * constant(4)));
        case 8: return did("round", round(e * constant(4)));
        case 9: return did("clamp", clamp(e, constant(-1), some_constant()));
        case 10: return did("add constant", e + some_constant());
        case 11: return did("multiply by constant", e * some_constant());
        case 12: return did("sin", sin(e));
        case 13: return did("tanh", tanh(e));
        case 14:
            return did("cast float to float and back",
                       Halide::cast(t, Halide::cast(draw.pick<Type>({f16, bf16, f32}), e)));
        case 15:
            return did("cast float to integer and back",
                       Halide::cast(t, some_integer(draw.pick<Type>({i8, i32, u8, u16}), e)));
        case 16: return did("select", select(e < some_constant(), e, e * constant(0.5)));
        case 17: return did("remainder", e % some_constant());
        case 18: return did("shared part", e * (constant(1.5) - constant(0.5) * e * e));
        case 19: {
            Expr bounded = clamp(e, constant(-2), constant(2));
            return did("shared part", select(bounded < constant(0), bounded * bounded, bounded) + bounded);
        }
        case 20:
            if (around.seed.defined()) return did("random", e * Halide::cast(t, random(around.seed)));
            return did("not equal", select(e != constant(0) && e >= constant(-1), e, constant(1)));
        default:
            if (around.seed.defined()) return did("dropout", dropout(e, 0.25f, around.seed));
            return did("less or equal", select(e <= constant(0) || e > constant(1), e, constant(0.5)));
        }
    }

    void integer_step() {
        int c = 1 + draw.below(7);
        switch (draw.below(15)) {
        case 0: return did("integer negate", constant(0) - e);
        case 1: return did("integer abs", magnitude(e));
        case 2: return did("integer add", e + c);
        case 3: return did("integer multiply", e * c);
        case 4: return did("integer divide", e / c);
        case 5: return did("integer remainder", e % c);
        case 6: return did("bitwise and", e & c);
        case 7: return did("bitwise or", e | c);
        case 8: return did("bitwise exclusive or", e ^ c);
        case 9: return did("shift left", e << 1);
        case 10: return did("shift right", e >> 2);
        case 11: return did("integer clamp", clamp(e, constant(1), constant(50)));
        case 12:
            return did("cast integer to integer and back",
                       Halide::cast(t, Halide::cast(draw.pick<Type>({i8, i16, i64, u8, u32, u64}), e)));
        case 13:
            return did("cast integer to float and back",
                       some_integer(t, Halide::cast(draw.pick<Type>({f32, f64, bf16}), e)));
        default: return did("integer select", select(e > c, e, constant(c)));
        }
    }

    void step() {
        if (!around.scalars.empty() && draw.chance(12)) {
            Expr s = plan_scalar_expression();
            return draw.chance(50) ? did("multiply by plan scalar", e * s) : did("add plan scalar", e + s);
        }
        if (!around.indices.empty() && draw.chance(6))
            return did("index as a value", e + Halide::cast(t, draw.pick(around.indices) % 16));
        t.is_float() ? float_step() : integer_step();
    }

    void combine(const Expr &operand) {
        Expr x = converted(operand);
        if (t.is_float()) {
            switch (draw.below(8)) {
            case 0: return did("add", e + x);
            case 1: return did("subtract", e - x);
            case 2: return did("multiply", e * x);
            case 3: return did("divide", e / (abs(x) + constant(1)));
            case 4: return did("max", max(e, x));
            case 5: return did("min", min(e, x));
            case 6: return did("select of two", select(e < x, x * constant(0.5), e));
            default: return did("multiply and add", e * constant(0.5) + x * constant(0.75));
            }
        }
        switch (draw.below(6)) {
        case 0: return did("integer add of two", e + x);
        case 1: return did("integer subtract of two", e - x);
        case 2: return did("integer multiply of two", e * x);
        case 3: return did("integer divide of two", e / (magnitude(x) % 7 + 1));
        case 4: return did("integer max", max(e, x));
        default: return did("integer min", min(e, x));
        }
    }

public:
    Chain(Draw &draw, OperationCounts &counts, const Surroundings &around, const Type &t)
        : draw(draw), counts(counts), around(around), t(t) {
    }

    Expr elementwise(std::vector<Expr> operands, int length) {
        e = converted(operands.back());
        operands.pop_back();
        if (around.rank) did("rank()", e + Halide::cast(t, rank()));
        while (length-- > 0 || !operands.empty()) {
            if (!operands.empty() && (draw.chance(50) || length < 0)) {
                combine(operands.back());
                operands.pop_back();
            } else {
                step();
            }
        }
        return e;
    }

    Expr linear(std::vector<Expr> partials, std::vector<Expr> others, int length) {
        e = partials.back();
        partials.pop_back();
        for (auto &p : partials)
            draw.chance(50) ? did("partial plus partial", e + p) : did("partial minus partial", e - p);
        for (auto &o : others) {
            Expr x = converted(o);
            if (t.is_float() && draw.chance(30)) did("partial divided", e / (abs(x) + constant(1)));
            else if (draw.chance(30)) did("partial selected", select(x > constant(0), e, constant(0)));
            else did("partial multiplied", e * x);
        }
        while (length-- > 0) {
            switch (draw.below(4)) {
            case 0: did("partial negated", constant(0) - e); break;
            case 1: did("partial multiplied by constant", e * some_constant()); break;
            case 2:
                if (around.seed.defined() && t.is_float())
                    did("partial dropout", dropout(e, 0.25f, around.seed));
                break;
            default:
                if (!around.scalars.empty())
                    did("partial multiplied by plan scalar", e * plan_scalar_expression());
            }
        }
        if (is_float16(t) && draw.chance(50)) {
            counts["partial cast to a wider float"]++;
            return Halide::cast(f32, e);
        }
        if ((t == i64 || t == u32) && draw.chance(50)) {
            counts["partial cast to a narrower integer"]++;
            return Halide::cast(t == i64 ? i32 : u16, e);
        }
        return e;
    }
};

}  // namespace

Expr random_elementwise(Draw &draw, OperationCounts &counts, const Type &t, std::vector<Expr> operands,
                        const Surroundings &around, int length) {
    return Chain(draw, counts, around, t).elementwise(std::move(operands), length);
}

Expr random_linear(Draw &draw, OperationCounts &counts, std::vector<Expr> partials,
                   const std::vector<Expr> &others, const Surroundings &around, int length) {
    Type t = partials.back().type();
    return Chain(draw, counts, around, t).linear(std::move(partials), others, length);
}

}  // namespace stretto
