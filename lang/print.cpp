#include "lang/print.h"
#include <cmath>
#include <iomanip>
#include <sstream>
#include "lang/expand.h"
#include "lang/shared_parts.h"
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

// Binding strength of C++ operators; an operand that binds weaker than its operator gets parentheses.
enum Strength { Ternary,
                OrOp,
                AndOp,
                Equality,
                Relational,
                Additive,
                Multiplicative,
                Unary,
                Primary };

std::string number(double x, const Type &t) {
    if (std::isinf(x)) return std::string(x < 0 ? "-" : "") + "infinity<" + cpp_type_name(t) + ">()";
    if (std::isnan(x)) return "nan<" + cpp_type_name(t) + ">()";
    std::string s;
    // The shortest text that reads back as the same value.
    for (int digits = 1; digits <= 17; digits++) {
        std::ostringstream o;
        o << std::setprecision(digits) << x;
        s = o.str();
        const double back = std::stod(s);
        if (t.bits() == 64 ? back == x : float(back) == float(x)) break;
    }
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    if (is_float16(t)) return cpp_type_name(t) + "(" + s + ")";
    return t.bits() == 32 ? s + "f" : s;
}

struct Operator {
    IRNodeType node;
    const char *strict;  // the call that Halide makes of it under strict_float
    const char *text;
    Strength strength;
};
const Operator operators[] = {
    {IRNodeType::Add, "strict_add", "+", Additive},
    {IRNodeType::Sub, "strict_sub", "-", Additive},
    {IRNodeType::Mul, "strict_mul", "*", Multiplicative},
    {IRNodeType::Div, "strict_div", "/", Multiplicative},
    {IRNodeType::Mod, "", "%", Multiplicative},
    {IRNodeType::LT, "strict_lt", "<", Relational},
    {IRNodeType::LE, "strict_le", "<=", Relational},
    {IRNodeType::GT, "", ">", Relational},
    {IRNodeType::GE, "", ">=", Relational},
    {IRNodeType::EQ, "strict_eq", "==", Equality},
    {IRNodeType::NE, "", "!=", Equality},
    {IRNodeType::And, "", "&&", AndOp},
    {IRNodeType::Or, "", "||", OrOp},
};

class Printer {
    const Graph &g;
    mutable int left = 1000;  // operations; a part that is used many times is written out many times

    static const Operator *operator_of(const Expr &e) {
        const Call *c = e.as<Call>();
        for (auto &o : operators)
            if (e.node_type() == o.node || (c && c->name == o.strict)) return &o;
        return nullptr;
    }
    static std::string enclosed(const std::string &s, Strength own, Strength outer) {
        return outer > own ? "(" + s + ")" : s;
    }
    std::string listed(const std::vector<Expr> &args) const {
        return join(args, [this](const Expr &a) { return print(a, Ternary); });
    }
    std::string arguments(const std::vector<Expr> &args) const { return "(" + listed(args) + ")"; }
    std::string call(const Call *c) const {
        std::string name = c->name;
        if (name == "stretto_random" && random_stream(c) < 0) return "random(" + print(c->args[0], Ternary) + ")";
        if (name == "stretto_random" && c->args.size() > 2)
            return "random(" + listed({c->args[0], c->args[1]}) + ", {" + listed({c->args.begin() + 2, c->args.end()}) + "})";
        for (const char *suffix : {"_f16", "_bf16", "_f32", "_f64"}) {
            std::string s = suffix;
            if (name.size() > s.size() && name.compare(name.size() - s.size(), s.size(), s) == 0)
                name.resize(name.size() - s.size());
        }
        if (name.rfind("stretto_", 0) == 0) name = name.substr(8);
        return name + arguments(c->args);
    }

public:
    explicit Printer(const Graph &g) : g(g) {
    }

    std::string print(const Expr &e, Strength outer) const {
        if (!e.defined()) return "undefined";
        if (left-- <= 0) return "...";
        if (const IntImm *x = e.as<IntImm>()) return std::to_string(x->value);
        if (const UIntImm *x = e.as<UIntImm>())
            return e.type().is_bool() ? (x->value ? "true" : "false") : std::to_string(x->value) + "u";
        if (const FloatImm *x = e.as<FloatImm>()) return number(x->value, e.type());
        if (const StringImm *x = e.as<StringImm>()) return "\"" + x->value + "\"";
        if (e.as<Variable>()) {
            Symbol s = symbol_of(e);
            if (s.kind == Symbol::Ranks || s.kind == Symbol::Rank) return s.name + "()";
            if (s.kind == Symbol::PlanScalar) return print(g.scalars[s.number], outer);
            return s.name;
        }
        if (const Sub *x = e.as<Sub>(); x && is_const_zero(x->a)) return enclosed("-" + print(x->b, Unary), Unary, outer);
        if (const Operator *o = operator_of(e)) {
            const std::vector<Expr> ab = operands(e);
            return enclosed(print(ab[0], o->strength) + " " + o->text + " " + print(ab[1], Strength(o->strength + 1)),
                            o->strength, outer);
        }
        if (const Call *c = e.as<Call>())
            return as_access(e) ? g.at(accessed(c)).name + arguments(indices_of(c)) : call(c);
        if (const Cast *x = e.as<Cast>()) return "cast<" + cpp_type_name(x->type) + ">(" + print(x->value, Ternary) + ")";
        if (const Reinterpret *x = e.as<Reinterpret>())
            return "reinterpret<" + cpp_type_name(x->type) + ">(" + print(x->value, Ternary) + ")";
        if (const Not *x = e.as<Not>()) return "!" + print(x->a, Unary);
        if (e.as<Halide::Internal::Max>()) return "max" + arguments(operands(e));
        if (e.as<Halide::Internal::Min>()) return "min" + arguments(operands(e));
        if (e.as<Select>()) return "select" + arguments(operands(e));
        if (const Let *x = e.as<Let>()) return print(Halide::Internal::substitute(x->name, x->value, x->body), outer);
        std::ostringstream o;
        o << e;
        return o.str();
    }
};

std::string extents(const Graph &g, const Dims &dims) {
    return "[" + to_string(g, dims) + "]";
}

// A communication of a plain tensor is written with the tensor, not its elements.
std::string operand(const Graph &g, const Node &n) {
    const Call *c = as_access(n.source);
    return c && are_indices(indices_of(c), n.vars()) ? g.at(accessed(c)).name : to_string(g, n.source);
}

std::string right_side(const Graph &g, const Node &n) {
    if (auto *m = n.as<Map>(); m && m->slice >= 0)
        return "slice_of(" + to_string(g, n.source) + ", " + std::to_string(m->slice) + ")";
    if (n.as<Reduction>()) return reduction_text(g, n);
    if (n.as<Blocks>()) return "block of " + reduction_text(g, n);
    if (n.as<Fold>()) return "fold of " + reduction_text(g, n);
    auto *c = n.as<Communication>();
    if (!c) return to_string(g, n.source);
    std::string type = n.type == n.source.type() ? "" : ", " + type_name(n.type), x = "(" + operand(g, n);
    if (c->reduce && !c->to_dim) return "all_reduce" + x + type + ")";
    if (c->reduce) return "reduce_scatter" + x + ", " + std::to_string(*c->to_dim) + type + ")";
    if (c->from.kind == From::Owner) return "all_gather" + x + ")";
    if (c->from.kind == From::Shift) {
        std::string edge = c->outside.defined() ? ", fill(" + to_string(g, c->outside) + ")" : c->from.cyclic ? ""
                                                                                                              : ", keep";
        return "shift" + x + ", " + std::to_string(-c->from.value) + edge + ")";
    }
    return "broadcast" + x + ", " + std::to_string(c->from.value) + ")";
}

}  // namespace

std::string to_string(const Graph &g, const Expr &e) {
    return Printer(g).print(e, Ternary);
}

std::string reduction_text(const Graph &g, const Node &n) {
    static const char *verbs[] = {"sum_over", "prod_over", "max_over", "min_over"};
    Names k = n.rvars();
    auto *b = n.as<Blocks>();
    auto *r = n.as<Reduction>();
    std::string text = std::string(verbs[n.reduce_op()]) + "(" + (k.size() == 1 ? k[0] : "{" + join(k) + "}") + ", " +
                       to_string(g, n.source) + ")";
    if (b && b->split) text += ".blocks(" + k[size_t(b->split)] + ")";
    return text + ((b && b->any_order) || (r && r->any_order) ? ".any_order()" : "");
}

std::string kind_text(const Node &n) {
    struct Visitor {
        std::string operator()(const ArgumentValue &) { return "an argument"; }
        std::string operator()(const Map &) { return "elementwise"; }
        std::string operator()(const Reduction &) { return "a contraction"; }
        std::string operator()(const Blocks &) { return "the block results of a full reduction"; }
        std::string operator()(const Fold &) { return "a full reduction"; }
        std::string operator()(const Communication &c) {
            if (c.reduce) return !c.to_dim ? "an all-reduce" : "a reduce-scatter";
            return c.from.kind == From::Owner ? "an all-gather" : c.from.kind == From::Shift ? "a shift"
                                                                                             : "a broadcast";
        }
    };
    return std::visit(Visitor(), n.op);
}

std::string definition_text(const Graph &g, const Node &n) {
    if (n.is_argument()) return n.name;
    std::string left = n.name + (n.is_communication() ? "" : "(" + join(n.vars()) + ")");
    return left + " = " + right_side(g, n);
}

std::string to_string(const Graph &g, const Node &n) {
    std::ostringstream o;
    o << std::left << std::setw(60) << definition_text(g, n) << "   " << to_string(n.layout) << " " << type_name(n.type)
      << extents(g, n.dims());
    return o.str();
}

std::string to_string(const Graph &g) {
    std::ostringstream o;
    o << "program " << g.program << "\n";
    static const char *accesses[] = {"input", "inout", "output"};
    for (auto &a : g.arguments) {
        o << "  " << accesses[int(a.access)] << " " << type_name(a.type) << " " << a.name;
        if (!a.scalar) o << extents(g, a.dims) << " " << to_string(a.layout);
        o << "\n";
    }
    for (auto &r : g.requirements) o << "  require " << to_string(g, r.condition) << ": \"" << r.text << "\"\n";
    for (auto &n : g.nodes)
        if (!n.is_argument()) o << "  " << to_string(g, n) << "\n";
    for (auto &r : g.results) o << "  " << g.arguments[r.argument].name << " <- " << g.at(r.node).name << "\n";
    return o.str();
}

}  // namespace stretto
