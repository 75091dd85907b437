#include "lang/expand.h"
#include <cmath>
#include <limits>
#include "lang/error.h"
#include "lang/functions.h"
#include "lang/shared_parts.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::reinterpret;
using Halide::strict_float;

namespace {

Type bits_of(const Type &t) { return Halide::UInt(t.bits()); }

// a != a, safe from fast-math: a strict comparison.
Expr differs_from_itself(const Expr &a) {  // NaN
    return strict_float(a != a);
}

Expr sign_bit(const Type &t) { return make_const(bits_of(t), uint64_t(1) << (t.bits() - 1)); }

// |x|, of -0 and NaN too.
Expr magnitude(const Expr &x) {
    return reinterpret(x.type(), reinterpret(bits_of(x.type()), x) & ~sign_bit(x.type()));
}

// The nearest integer, of two the even one: a sum with 2^23 (f64: 2^52) has no places for a fraction. From there on all
// numbers are integers.
Expr to_nearest_even(const Expr &x) {
    const Type t = x.type(), bits = bits_of(t);
    Expr large = make_const(t, t.bits() == 64 ? 0x1p52 : 0x1p23), size = magnitude(x);
    Expr rounded = reinterpret(bits, strict_float((size + large) - large)) | (reinterpret(bits, x) & sign_bit(t));
    return select(strict_float(size < large), reinterpret(t, rounded), x);
}

// Halide's names, without the type at their end.
struct UnaryFunction {
    const char *name;
    Expr (*definition)(const Expr &);
};
const UnaryFunction unary_functions[] = {
    {"exp", functions::exp},
    {"log", functions::log},
    {"erf", functions::erf},
    {"sin", functions::sin},
    {"cos", functions::cos},
    {"tan", functions::tan},
    {"asin", functions::asin},
    {"acos", functions::acos},
    {"atan", functions::atan},
    {"sinh", functions::sinh},
    {"cosh", functions::cosh},
    {"tanh", functions::tanh},
    {"asinh", functions::asinh},
    {"acosh", functions::acosh},
    {"atanh", functions::atanh},
    {"fast_inverse", [](const Expr &x) { return 1 / x; }},
    {"fast_inverse_sqrt", [](const Expr &x) { return 1 / sqrt(x); }},
};

// The definition of a call of a function, undefined of other calls.
Expr definition(const Call *c, const std::vector<Expr> &args) {
    if (c->call_type != Call::PureExtern || !c->type.is_float()) return {};
    const std::string type = c->type.bits() == 64 ? "_f64" : "_f32";
    for (auto &f : unary_functions)
        if (c->name == f.name + type) return f.definition(args[0]);
    if (c->name == "pow" + type) return functions::pow(args[0], args[1]);
    if (c->name == "atan2" + type) return functions::atan2(args[0], args[1]);
    return {};
}

class ExpandFunctions : public IRGraphMutator {
    using Operands = const std::vector<Expr> &;
    // f of operands that it uses several times: they get names, or nested calls would grow exponentially.
    //   f(x * y)   ->   let let.0 = x * y in f(let.0)
    template <class F>
    static Expr with_names(std::vector<Expr> operands, F f) {
        std::vector<std::pair<std::string, Expr>> bound;
        for (auto &x : operands) {
            if (x.as<Variable>() || is_const(x)) continue;
            bound.push_back({new_let(), x});
            x = Variable::make(x.type(), bound.back().first);
        }
        Expr r = rename_lets(f(operands));
        for (auto it = bound.rbegin(); it != bound.rend(); ++it) r = Let::make(it->first, it->second, r);
        return r;
    }

    using IRMutator::visit;
    Expr visit(const Call *c) override {
        std::vector<Expr> args;
        for (auto &a : c->args) args.push_back(a.type().is_handle() ? a : mutate(a));
        Expr e = definition(c, args);
        if (e.defined()) return e;
        // Halide 21 lowers these after strict_float was applied.
        if (c->type.is_float() && c->type.bits() >= 32) {
            if (c->is_intrinsic(Call::abs)) return magnitude(args[0]);
            if (c->is_intrinsic(Call::round)) return with_names(args, [](Operands x) { return to_nearest_even(x[0]); });
        }
        if (c->is_intrinsic(Call::lerp))
            return with_names(args, [&](Operands x) {
                return lower_lerp(c->type, x[0], x[1], x[2], Halide::Target("x86-64-linux"));
            });
        return Call::make(c->type, c->name, args, c->call_type);
    }
    Expr extremum(ReduceOp op, const Expr &a, const Expr &b) {
        if (!a.type().is_float()) return combine(op, a, b);
        return with_names({a, b}, [=](auto &x) { return combine(op, x[0], x[1]); });
    }
    Expr visit(const Halide::Internal::Max *x) override {
        return extremum(ReduceOp::Max, mutate(x->a), mutate(x->b));
    }
    Expr visit(const Halide::Internal::Min *x) override {
        return extremum(ReduceOp::Min, mutate(x->a), mutate(x->b));
    }
    // Halide 21 compiles strict a <= b as !(b < a), which is true of NaN.
    Expr at_most(const Expr &a, const Expr &b) {
        if (!a.type().is_float()) return a <= b;
        return with_names({a, b}, [](auto &x) { return x[0] < x[1] || x[0] == x[1]; });
    }
    Expr visit(const LE *x) override { return at_most(mutate(x->a), mutate(x->b)); }
    Expr visit(const GE *x) override { return at_most(mutate(x->b), mutate(x->a)); }
    // To Halide 21 the constants -0 and +0 are equal, and one of them stands for both in a kernel.
    Expr visit(const FloatImm *x) override {
        if (x->value != 0 || !std::signbit(x->value) || x->type.bits() < 32) return x;
        return reinterpret(x->type, make_const(bits_of(x->type), uint64_t(1) << (x->type.bits() - 1)));
    }
    // Halide refuses a constant divisor of 0.
    static Expr quotient(const Expr &a, const Expr &b) {
        const FloatImm *zero = b.as<FloatImm>();
        if (!zero || zero->value != 0) return a / b;
        return a * make_const(a.type(), std::copysign(std::numeric_limits<double>::infinity(), zero->value));
    }
    Expr visit(const Div *x) override { return quotient(mutate(x->a), mutate(x->b)); }
    // Halide 21 converts a float that passes through an integer on its way to a narrower one directly, and then does not
    // wrap. Going through the bits keeps the integer.
    Expr visit(const Cast *x) override {
        Expr v = mutate(x->value);
        const Cast *inner = v.as<Cast>();
        const bool integers = !x->type.is_float() && !x->type.is_bool() && !v.type().is_float() && !v.type().is_bool();
        if (!integers || x->type.bits() >= v.type().bits() || !inner || !inner->value.type().is_float())
            return cast(x->type, v);
        return cast(x->type, v & make_const(v.type(), int64_t((uint64_t(1) << x->type.bits()) - 1)));
    }
    Expr visit(const Mod *x) override {
        Expr a = mutate(x->a), b = mutate(x->b);
        if (!x->type.is_float()) return a % b;
        return functions::remainder(a, b);
    }
};

class WidenFloat16 : public IRGraphMutator {
    using IRMutator::visit;
    template <class T>
    Expr binary(const T *x) { return T::make(widen(x->a), widen(x->b)); }
    Expr visit(const Add *x) override { return binary(x); }
    Expr visit(const Sub *x) override { return binary(x); }
    Expr visit(const Mul *x) override { return binary(x); }
    Expr visit(const Div *x) override { return binary(x); }
    Expr visit(const Mod *x) override { return binary(x); }
    Expr visit(const Halide::Internal::Max *x) override { return binary(x); }
    Expr visit(const Halide::Internal::Min *x) override { return binary(x); }
    Expr visit(const EQ *x) override { return binary(x); }
    Expr visit(const NE *x) override { return binary(x); }
    Expr visit(const LT *x) override { return binary(x); }
    Expr visit(const LE *x) override { return binary(x); }
    Expr visit(const GT *x) override { return binary(x); }
    Expr visit(const GE *x) override { return binary(x); }
    Expr visit(const Select *x) override {
        return Select::make(mutate(x->condition), widen(x->true_value), widen(x->false_value));
    }
    // A name of a 16-bit value stands for the wide one.
    Expr visit(const Let *l) override { return Let::make(l->name, widen(l->value), mutate(l->body)); }
    Expr visit(const Variable *v) override {
        bool wide = is_float16(v->type) && symbol_of(Expr(v)).kind == Symbol::Let;
        return wide ? Variable::make(f32, v->name) : Expr(v);
    }
    Expr visit(const FloatImm *x) override {
        return is_float16(x->type) ? FloatImm::make(f32, x->value) : Expr(x);
    }
    Expr visit(const Cast *x) override {
        Expr v = widen(x->value);
        if (!is_float16(x->type)) return cast(x->type, v);
        if (as_access(x->value) && x->value.type() == x->type) return v;
        // An integer beside a 16-bit float is rounded with the operation's result.
        if (!x->value.type().is_float()) return cast(f32, v);
        return cast(f32, round_to(x->type, v));
    }
    Expr visit(const Call *c) override {
        if (as_access(Expr(c))) {
            Expr e = IRGraphMutator::visit(c);
            return is_float16(c->type) ? cast(f32, e) : e;
        }
        std::vector<Expr> args;
        for (auto &a : c->args) args.push_back(a.type().is_handle() ? a : widen(a));
        std::string name = c->name;
        size_t suffix = name.rfind("_f16");
        if (suffix == std::string::npos) suffix = name.rfind("_bf16");
        if (suffix != std::string::npos) name = name.substr(0, suffix) + "_f32";  // is_nan_f16 as well, of a bool
        return Call::make(is_float16(c->type) ? f32 : c->type, name, args, c->call_type);
    }

public:
    // Of type f32 where e has a 16-bit float type, else of e's own.
    Expr widen(const Expr &e) {
        Expr wide = mutate(e);
        return e.as<Variable>() && is_float16(wide.type()) ? cast(f32, wide) : wide;
    }
};

// One round of Philox4x32 (Salmon et al., SC 2011), multipliers and Weyl constants from the paper.
struct Philox {
    Expr c[4], k[2];
    static Expr multiply(uint32_t m, const Expr &x) { return cast<uint64_t>(x) * make_const(u64, m); }
    void round() {
        Expr p0 = multiply(0xD2511F53u, c[0]), p1 = multiply(0xCD9E8D57u, c[2]);
        Expr hi0 = cast<uint32_t>(p0 >> 32), lo0 = cast<uint32_t>(p0);
        Expr hi1 = cast<uint32_t>(p1 >> 32), lo1 = cast<uint32_t>(p1);
        Expr next[4] = {hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0};
        std::copy(next, next + 4, c);
        k[0] = k[0] + make_const(u32, 0x9E3779B9u);
        k[1] = k[1] + make_const(u32, 0xBB67AE85u);
    }
};

// Streams that the user did not give count down from here.
constexpr int no_stream = -1, first_default_stream = -2;

class ExpandRandom : public IRGraphMutator {
    const Graph &g;
    const Node &n;
    using IRGraphMutator::visit;

    Expr extent(const std::string &v) const {
        auto it = std::find_if(n.domain.begin(), n.domain.end(), [&](const Index &i) { return i.name == v; });
        if (it == n.domain.end())
            throw Error("In program " + g.program + ": random(...): index " + v +
                        " is no index of the definition it stands in.");
        const Dim &d = it->extent;
        return d.kind == Dim::Constant ? make_const(u64, d.value)
               : d.kind == Dim::Size   ? cast<uint64_t>(size_value(g.sizes[d.value]))
                                       : cast<uint64_t>(ranks_value());
    }
    Expr visit(const Call *c) override {
        if (!is_random(c)) return IRGraphMutator::visit(c);
        Names names;
        for (size_t i = 2; i < c->args.size(); i++) names.push_back(bare_index(c->args[i]));
        if (names.empty() && n.dimensions() < n.domain.size()) {
            std::string all;
            for (auto &i : n.domain)
                if (!n.as<Blocks>() || i.reduced) all += (all.empty() ? "" : ", ") + i.name;
            throw Error("In program " + g.program +
                        ": random(seed) inside a reduction: its indices are those of the left side, "
                        "and each addend would have the same number.\nLegal: the stream and the indices, random(seed, 0, {" +
                        all + "}); dropout(e, rate, seed, 0, {" + all + "})");
        }
        if (names.empty()) names = n.vars();
        Expr linear;
        for (auto &v : names) {
            Expr i = cast<uint64_t>(index(v));
            linear = linear.defined() ? linear * extent(v) + i : i;
        }
        if (!linear.defined()) linear = make_const(u64, 0);
        int64_t stream = *as_const_int(c->args[1]);
        if (stream < 0) stream = first_default_stream - stream;
        Expr seed = cast<uint64_t>(mutate(c->args[0]));
        // Halide shares the subexpressions of a round only if they are names: bind the state after each.
        Philox p{{cast<uint32_t>(linear), cast<uint32_t>(linear >> 32), make_const(u32, stream),
                  make_const(u32, 0)},
                 {cast<uint32_t>(seed), cast<uint32_t>(seed >> 32)}};
        std::vector<std::pair<std::string, Expr>> bound;
        auto bind = [&](Expr &e) {
            std::string name = unique_name("philox");
            bound.push_back({name, e});
            e = Variable::make(e.type(), name);
        };
        for (int r = 0; r < 10; r++) {
            p.round();
            if (r < 9)
                for (auto &x : p.c) bind(x);
        }
        Expr result = cast<float>(p.c[0] >> 8) * Expr(0x1p-24f);
        for (auto it = bound.rbegin(); it != bound.rend(); ++it)
            result = Let::make(it->first, it->second, result);
        return rename_lets(result);
    }

public:
    ExpandRandom(const Graph &g, const Node &n) : g(g), n(n) {}
};

class TakeOutScalars : public IRGraphMutator {
    Graph &g;
    Holdings holdings;

public:
    explicit TakeOutScalars(Graph &g) : g(g) {}
    using IRGraphMutator::mutate;
    Expr mutate(const Expr &e) override {
        if (e.type().is_handle() || symbol_of(e).kind == Symbol::PlanScalar) return e;
        const Holdings::Holding &h = holdings.of(e);
        if (!h.symbol) return e;
        if (!h.is_scalar()) return IRGraphMutator::mutate(e);
        int k = 0;
        while (k < int(g.scalars.size()) && !graph_equal(g.scalars[k], e)) k++;
        if (k == int(g.scalars.size())) g.scalars.push_back(e);
        return plan_scalar(e.type(), k);
    }
};

}  // namespace

Expr combine(ReduceOp op, const Expr &a, const Expr &b) {
    if (op == Sum) return a + b;
    if (op == Prod) return a * b;
    if (!a.type().is_float()) return op == ReduceOp::Max ? max(a, b) : min(a, b);
    Type t = bits_of(a.type());
    // Equal operands differ at most in the sign of a zero: Max keeps +0, Min keeps -0.
    Expr x = reinterpret(t, a), y = reinterpret(t, b),
         same = reinterpret(a.type(), op == ReduceOp::Max ? (x & y) : (x | y));
    Expr first = op == ReduceOp::Max ? strict_float(a > b) : strict_float(a < b);
    return select(strict_float(a == b), same, select(first || differs_from_itself(a), a, b));
}

Expr expand_functions(const Expr &e) { return ExpandFunctions().mutate(e); }

Expr widen_float16(const Expr &e) {
    Expr wide = WidenFloat16().widen(e);
    if (!is_float16(e.type())) return wide;
    const Cast *c = wide.as<Cast>();
    if (c && c->value.type() == e.type())
        return c->value;  // a widened read, or a value that is rounded already
    return round_to(e.type(), wide);
}

Expr round_to(const Type &t, const Expr &e) { return cast(t, is_float16(t) && e.type() != t ? cast(f32, e) : e); }

Expr expand_random(const Graph &g, const Expr &e, const Node &n) { return ExpandRandom(g, n).mutate(e); }

Expr random_placeholder(const Expr &seed, int stream, const std::vector<Expr> &indices) {
    std::vector<Expr> args{cast<uint64_t>(seed), Expr(stream)};
    args.insert(args.end(), indices.begin(), indices.end());
    return Call::make(f32, "stretto_random", args, Call::PureExtern);
}

bool is_random(const Call *c) { return c->name == "stretto_random"; }

bool is_random_without_stream(const Call *c) { return is_random(c) && is_const(c->args[1], no_stream); }

Expr with_stream(const Call *c, int stream) {
    std::vector<Expr> args = c->args;
    args[1] = Expr(first_default_stream - stream);
    return Call::make(c->type, c->name, args, c->call_type);
}

int random_stream(const Call *c) { return is_random(c) ? std::max(no_stream, int(*as_const_int(c->args[1]))) : no_stream; }

Expr take_out_scalars(Graph &g, const Expr &e) { return TakeOutScalars(g).mutate(e); }

}  // namespace stretto
