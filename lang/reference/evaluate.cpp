#include "lang/reference/evaluate.h"
#include <algorithm>
#include <set>
#include <sstream>
#include "lang/reference/arithmetic.h"
#include "lang/reference/reference.h"
#include "lang/shared_parts.h"

namespace stretto {

using namespace Halide::Internal;
namespace {

using interpreter::Code;
using interpreter::code;
using interpreter::Frame;

std::string text(const Expr &e) {
    std::ostringstream o;
    o << e;
    return o.str();
}

// f(a, b) of operands of type t.
template <class F>
Code in_type(const Type &t, const std::vector<Code> &ab, F f) {
    return with_type(t, [&](auto zero) { return interpreter::binary<decltype(zero)>(ab[0], ab[1], f); });
}
template <class F>
Code comparison(const Type &t, const std::vector<Code> &ab, F f) {
    return in_type(t, ab, [f](auto a, auto b) { return bool(f(interpreter::widen(a), interpreter::widen(b))); });
}

// Turns an expression, a graph of shared nodes, into code that computes every node at most once an
// evaluation. Only the arm of a Select that is taken is evaluated.
class Compiler {
    // The part of the expression in which a Let's name stands for a value.
    struct Scope {
        const Scope *outer;
        std::string name;
        Code value;
        std::map<const IRNode *, Code> known;
    };
    const std::vector<std::string> &indices;
    Scope root{nullptr, "", {}, {}};
    std::map<const IRNode *, std::set<std::string>> free;

    // The names that e uses and does not bind.
    const std::set<std::string> &free_names(const Expr &e) {
        auto it = free.find(e.get());
        if (it != free.end()) return it->second;
        std::set<std::string> names;
        if (auto *v = e.as<Variable>()) names.insert(v->name);
        if (auto *let = e.as<Let>()) {
            names = free_names(let->body);
            names.erase(let->name);
            const auto &more = free_names(let->value);
            names.insert(more.begin(), more.end());
        } else {
            for (auto &child : operands(e)) {
                const auto &more = free_names(child);
                names.insert(more.begin(), more.end());
            }
        }
        return free[e.get()] = std::move(names);
    }

    // The innermost scope that binds a name which e uses: e means the same in all scopes inside of it.
    Scope *home(const Expr &e, Scope *s) {
        const auto &names = free_names(e);
        while (s->outer && !names.count(s->name)) s = const_cast<Scope *>(s->outer);
        return s;
    }
    static const Scope *binding(const Scope *s, const std::string &name) {
        while (s->outer && s->name != name) s = s->outer;
        return s->outer ? s : nullptr;
    }

    Code remembered(const Code &c) {
        size_t place = places++;
        return code([=](Frame &r) {
            if (r.done[place] != r.evaluation) {
                r.values[place] = c(r);
                r.done[place] = r.evaluation;
            }
            return r.values[place];
        });
    }

    Code variable(const Variable *v, const Scope *scope) {
        if (const Scope *s = binding(scope, v->name)) return s->value;
        Symbol s = symbol_of(Expr(v));
        Type t = v->type;
        switch (s.kind) {
        case Symbol::Ranks:
            return code([t](Frame &r) { return cast_value(Value::of(r.rank->ranks), Halide::Int(32), t); });
        case Symbol::Rank:
            return code([t](Frame &r) { return cast_value(Value::of(r.rank->rank), Halide::Int(32), t); });
        case Symbol::Scalar:
            return code([name = s.name, t](Frame &r) {
                auto it = r.rank->scalars.find(name);
                if (it == r.rank->scalars.end()) throw Error("reference: scalar " + name + " has no value");
                return cast_value(it->second.value, it->second.type, t);
            });
        case Symbol::Size:
            return code([name = s.name, t](Frame &r) {
                auto it = r.rank->sizes.find(name);
                if (it == r.rank->sizes.end()) throw Error("reference: size " + name + " has no value");
                return cast_value(Value::of(it->second), Halide::Int(64), t);
            });
        case Symbol::PlanScalar:
            return code([number = size_t(s.number), t](Frame &r) {
                if (number >= r.rank->plan_scalars.size())
                    throw Error("reference: plan scalar " + std::to_string(number) + " has no value yet");
                const ScalarValue &x = r.rank->plan_scalars[number];
                return cast_value(x.value, x.type, t);
            });
        default: break;
        }
        auto it = std::find(indices.begin(), indices.end(), v->name);
        if (it == indices.end()) throw Error("reference: nothing gives " + v->name + " a value");
        size_t place = size_t(it - indices.begin());
        return code([=](Frame &r) { return cast_value(Value::of((*r.index)[place]), Halide::Int(64), t); });
    }

    Code access(const Call *c, Scope *s) {
        std::vector<Code> indices;
        std::vector<Type> types;
        for (auto &i : indices_of(c)) indices.push_back(compile(i, s)), types.push_back(i.type());
        NodeId id = accessed(c);
        Type t = c->type;
        return code([=](Frame &r) {
            auto it = r.memory->tensors.find(id);
            if (it == r.memory->tensors.end())
                throw Error("reference: node " + std::to_string(id) + " is read before it has a value");
            std::vector<int64_t> at(indices.size());
            for (size_t d = 0; d < at.size(); d++)
                at[d] = cast_value(indices[d](r), types[d], Halide::Int(64)).as<int64_t>();
            if (!it->second.contains(at)) {
                std::string where;
                for (int64_t i : at) where += (where.empty() ? "" : ", ") + std::to_string(i);
                throw NoElement("reference: rank " + std::to_string(r.memory->rank) + " has no element (" + where +
                                    ") of node " + std::to_string(id),
                                it->second.bytes.empty());
            }
            return cast_value(it->second.load(it->second.position(at)), it->second.type, t);
        });
    }

    Code let(const Let *x, Scope *s) {
        scopes.push_back(std::make_unique<Scope>(Scope{s, x->name, compile(x->value, s), {}}));
        return compile(x->body, scopes.back().get());
    }

    Code call(const Call *c, Scope *s) {
        if (as_access(Expr(c))) return access(c, s);
        Expr simpler = interpreter::simpler_call(c);
        if (simpler.defined()) {
            kept.push_back(simpler);  // known and free are keyed by address
            return compile(simpler, s);
        }
        std::vector<Code> args;
        for (auto &a : c->args) args.push_back(compile(a, s));
        return c->is_intrinsic(Call::if_then_else) ? choice(args) : interpreter::compile_call(c, args);
    }

    // f(a, b), in any type but the 16-bit floats.
    template <class F>
    static Code arithmetic(const Expr &e, const std::vector<Code> &ab, F f) {
        if (is_float16(e.type()))
            throw Error("reference: arithmetic in " + type_name(e.type()) + ", which the language does in float32: " + text(e));
        return with_type(e.type(), [&](auto zero) -> Code {
            using T = decltype(zero);
            if constexpr (interpreter::is_narrow_float<T>) return {};
            else return interpreter::binary<T>(ab[0], ab[1], f);
        });
    }

    static Code reinterpreted(const Expr &e, const Type &from, const Code &value) {
        if (from.bits() != e.type().bits()) throw Error("reference: reinterpret between widths: " + text(e));
        return with_type(from, [&](auto zero) {
            using From = decltype(zero);
            return with_type(e.type(), [&](auto result) {
                using To = decltype(result);
                return interpreter::unary<From>(value, [](From a) {
                    To b{};
                    std::memcpy(&b, &a, std::min(sizeof a, sizeof b));
                    return b;
                });
            });
        });
    }

    Code build(const Expr &e, Scope *s) {
        if (auto *x = e.as<Let>()) return let(x, s);
        if (auto *x = e.as<Call>()) return call(x, s);
        const std::vector<Expr> parts = operands(e);
        std::vector<Code> x;
        for (auto &part : parts) x.push_back(compile(part, s));
        const Type t = e.type(), from = parts.empty() ? t : parts[0].type();
        switch (e.node_type()) {
        case IRNodeType::Cast: return code([v = x[0], from, t](Frame &r) { return cast_value(v(r), from, t); });
        case IRNodeType::Reinterpret: return reinterpreted(e, from, x[0]);
        case IRNodeType::Add: return arithmetic(e, x, [](auto a, auto b) { return interpreter::add(a, b); });
        case IRNodeType::Sub: return arithmetic(e, x, [](auto a, auto b) { return interpreter::subtract(a, b); });
        case IRNodeType::Mul: return arithmetic(e, x, [](auto a, auto b) { return interpreter::multiply(a, b); });
        case IRNodeType::Div: return arithmetic(e, x, [](auto a, auto b) { return interpreter::divide(a, b); });
        case IRNodeType::Mod: return arithmetic(e, x, [](auto a, auto b) { return interpreter::remainder(a, b); });
        case IRNodeType::Max: return in_type(t, x, [](auto a, auto b) { return interpreter::maximum(a, b); });
        case IRNodeType::Min: return in_type(t, x, [](auto a, auto b) { return interpreter::minimum(a, b); });
        case IRNodeType::EQ: return comparison(from, x, std::equal_to<>());
        case IRNodeType::NE: return comparison(from, x, std::not_equal_to<>());
        case IRNodeType::LT: return comparison(from, x, std::less<>());
        case IRNodeType::LE: return comparison(from, x, std::less_equal<>());
        case IRNodeType::GT: return comparison(from, x, std::greater<>());
        case IRNodeType::GE: return comparison(from, x, std::greater_equal<>());
        case IRNodeType::And: return code([x](Frame &r) { return Value::of(x[0](r).as<bool>() && x[1](r).as<bool>()); });
        case IRNodeType::Or: return code([x](Frame &r) { return Value::of(x[0](r).as<bool>() || x[1](r).as<bool>()); });
        case IRNodeType::Not: return interpreter::unary<bool>(x[0], std::logical_not<>());
        case IRNodeType::Select: return choice(x);
        default: throw Error("reference: cannot evaluate " + text(e));
        }
    }

    // Of a condition and two arms, only one of which is evaluated.
    static Code choice(const std::vector<Code> &x) {
        return code([=](Frame &r) { return x[0](r).as<bool>() ? x[1](r) : x[2](r); });
    }

    static Code constant(Value v) {
        return code([v](Frame &) { return v; });
    }

    Code compile(const Expr &e, Scope *scope) {
        if (auto *x = e.as<IntImm>()) return constant(Value::of(x->value));
        if (auto *x = e.as<UIntImm>()) return constant(Value::of(x->value));
        if (auto *x = e.as<FloatImm>())
            return constant(cast_value(Value::of(x->value), Halide::Float(64), x->type));
        if (auto *x = e.as<Variable>()) return variable(x, scope);
        Scope *s = home(e, scope);
        auto it = s->known.find(e.get());
        if (it != s->known.end()) return it->second;
        Code c = remembered(build(e, s));
        return s->known[e.get()] = c;
    }

    std::vector<std::unique_ptr<Scope>> scopes;
    std::vector<Expr> kept;

public:
    size_t places = 0;
    explicit Compiler(const std::vector<std::string> &indices) : indices(indices) {
    }
    Code operator()(const Expr &e) {
        return compile(e, &root);
    }
};

}  // namespace

Evaluator::Evaluator(const Expr &e, const std::vector<std::string> &indices) : type_(e.type()) {
    Compiler compiler(indices);
    code = compiler(e);
    frame.values.resize(compiler.places);
    frame.done.resize(compiler.places);
}

Value Evaluator::operator()(const RankState &rank, const std::vector<int64_t> &index) {
    return (*this)(rank, index, rank);
}

Value Evaluator::operator()(const RankState &rank, const std::vector<int64_t> &index, const RankState &memory) {
    frame.rank = &rank;
    frame.memory = &memory;
    frame.index = &index;
    frame.evaluation++;
    return code(frame);
}

}  // namespace stretto
