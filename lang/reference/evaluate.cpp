#include "lang/reference/evaluate.h"
#include <algorithm>
#include <set>
#include <sstream>
#include "lang/reference/arithmetic.h"

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

// f(a, b) in the type of the operands; its result gives the type of the value.
template <class F>
Code binary(const Expr &a_expr, const Code &a, const Code &b, F f) {
    return with_type(a_expr.type(), [&](auto zero) {
        using T = decltype(zero);
        return code([=](Frame &r) {
            T x = a(r).template as<T>(), y = b(r).template as<T>();
            return Value::of(f(x, y));
        });
    });
}

// Arithmetic, in any type but the 16-bit floats.
template <class F>
Code arithmetic(const Expr &e, const Code &a, const Code &b, F f) {
    if (is_float16(e.type()))
        throw Error("reference: arithmetic in " + type_name(e.type()) +
                    ", which the language does in float32: " + text(e));
    return with_type(e.type(), [&](auto zero) -> Code {
        using T = decltype(zero);
        if constexpr (interpreter::is_narrow_float<T>) return {};
        else return code([=](Frame &r) {
            T x = a(r).template as<T>(), y = b(r).template as<T>();
            return Value::of(T(f(x, y)));
        });
    });
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
            for (auto &child : children(e)) {
                const auto &more = free_names(child);
                names.insert(more.begin(), more.end());
            }
        }
        return free[e.get()] = std::move(names);
    }

    static std::vector<Expr> children(const Expr &e) {
        auto pair = [](auto *x) { return std::vector<Expr>{x->a, x->b}; };
        if (auto *x = e.as<Cast>()) return {x->value};
        if (auto *x = e.as<Reinterpret>()) return {x->value};
        if (auto *x = e.as<Add>()) return pair(x);
        if (auto *x = e.as<Sub>()) return pair(x);
        if (auto *x = e.as<Mul>()) return pair(x);
        if (auto *x = e.as<Div>()) return pair(x);
        if (auto *x = e.as<Mod>()) return pair(x);
        if (auto *x = e.as<Halide::Internal::Min>()) return pair(x);
        if (auto *x = e.as<Halide::Internal::Max>()) return pair(x);
        if (auto *x = e.as<EQ>()) return pair(x);
        if (auto *x = e.as<NE>()) return pair(x);
        if (auto *x = e.as<LT>()) return pair(x);
        if (auto *x = e.as<LE>()) return pair(x);
        if (auto *x = e.as<GT>()) return pair(x);
        if (auto *x = e.as<GE>()) return pair(x);
        if (auto *x = e.as<And>()) return pair(x);
        if (auto *x = e.as<Or>()) return pair(x);
        if (auto *x = e.as<Not>()) return {x->a};
        if (auto *x = e.as<Select>()) return {x->condition, x->true_value, x->false_value};
        if (auto *x = e.as<Call>()) return x->args;
        return {};
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
                throw Error("reference: rank " + std::to_string(r.memory->rank) + " has no element (" +
                            where + ") of node " + std::to_string(id));
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
        if (c->is_intrinsic(Call::if_then_else)) {
            Code condition = compile(c->args[0], s), yes = compile(c->args[1], s),
                 no = compile(c->args[2], s);
            return code([=](Frame &r) { return condition(r).as<bool>() ? yes(r) : no(r); });
        }
        Expr simpler = interpreter::simpler_call(c);
        if (simpler.defined()) {
            kept.push_back(simpler);  // known and free are keyed by address
            return compile(simpler, s);
        }
        std::vector<Code> args;
        for (auto &a : c->args) args.push_back(compile(a, s));
        return interpreter::compile_call(c, args);
    }

    Code build(const Expr &e, Scope *s) {
        if (auto *x = e.as<Cast>()) {
            Code v = compile(x->value, s);
            Type from = x->value.type(), to = x->type;
            return code([=](Frame &r) { return cast_value(v(r), from, to); });
        }
        if (auto *x = e.as<Reinterpret>()) {
            if (x->value.type().bits() != x->type.bits())
                throw Error("reference: reinterpret between widths: " + text(e));
            Code v = compile(x->value, s);
            return with_type(x->value.type(), [&](auto zero) {
                using From = decltype(zero);
                return with_type(x->type, [&](auto result) {
                    using To = decltype(result);
                    return code([=](Frame &r) {
                        From a = v(r).template as<From>();
                        To b{};
                        std::memcpy(&b, &a, std::min(sizeof a, sizeof b));
                        return Value::of(b);
                    });
                });
            });
        }
        auto compiled = [&](auto *x) { return std::make_pair(compile(x->a, s), compile(x->b, s)); };
        auto compare = [&](auto *x, auto f) {
            auto [a, b] = compiled(x);
            return binary(x->a, a, b, [f](auto p, auto q) {
                return bool(f(interpreter::widen(p), interpreter::widen(q)));
            });
        };
        auto compute = [&](auto *x, auto f) {
            auto [a, b] = compiled(x);
            return arithmetic(e, a, b, f);
        };
        if (auto *x = e.as<Add>()) return compute(x, [](auto a, auto b) { return interpreter::add(a, b); });
        if (auto *x = e.as<Sub>())
            return compute(x, [](auto a, auto b) { return interpreter::subtract(a, b); });
        if (auto *x = e.as<Mul>())
            return compute(x, [](auto a, auto b) { return interpreter::multiply(a, b); });
        if (auto *x = e.as<Div>())
            return compute(x, [](auto a, auto b) { return interpreter::divide(a, b); });
        if (auto *x = e.as<Mod>())
            return compute(x, [](auto a, auto b) { return interpreter::remainder(a, b); });
        if (auto *x = e.as<EQ>()) return compare(x, [](auto a, auto b) { return a == b; });
        if (auto *x = e.as<NE>()) return compare(x, [](auto a, auto b) { return a != b; });
        if (auto *x = e.as<LT>()) return compare(x, [](auto a, auto b) { return a < b; });
        if (auto *x = e.as<LE>()) return compare(x, [](auto a, auto b) { return a <= b; });
        if (auto *x = e.as<GT>()) return compare(x, [](auto a, auto b) { return a > b; });
        if (auto *x = e.as<GE>()) return compare(x, [](auto a, auto b) { return a >= b; });
        if (auto *x = e.as<Halide::Internal::Max>()) {
            auto [a, b] = compiled(x);
            return binary(x->a, a, b, [](auto p, auto q) { return interpreter::maximum(p, q); });
        }
        if (auto *x = e.as<Halide::Internal::Min>()) {
            auto [a, b] = compiled(x);
            return binary(x->a, a, b, [](auto p, auto q) { return interpreter::minimum(p, q); });
        }
        if (auto *x = e.as<And>()) {
            auto [a, b] = compiled(x);
            return code([a = a, b = b](Frame &r) { return Value::of(a(r).as<bool>() && b(r).as<bool>()); });
        }
        if (auto *x = e.as<Or>()) {
            auto [a, b] = compiled(x);
            return code([a = a, b = b](Frame &r) { return Value::of(a(r).as<bool>() || b(r).as<bool>()); });
        }
        if (auto *x = e.as<Not>()) {
            Code a = compile(x->a, s);
            return code([=](Frame &r) { return Value::of(!a(r).as<bool>()); });
        }
        if (auto *x = e.as<Select>()) {
            Code c = compile(x->condition, s), yes = compile(x->true_value, s),
                 no = compile(x->false_value, s);
            return code([=](Frame &r) { return c(r).as<bool>() ? yes(r) : no(r); });
        }
        if (auto *x = e.as<Let>()) return let(x, s);
        if (auto *x = e.as<Call>()) return call(x, s);
        throw Error("reference: cannot evaluate " + text(e));
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
