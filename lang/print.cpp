#include "lang/print.h"
#include <cmath>
#include <iomanip>
#include <sstream>
#include "lang/expand.h"

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
    std::ostringstream o;
    if (std::isinf(x)) return std::string(x < 0 ? "-" : "") + "infinity<" + cpp_type_name(t) + ">()";
    if (std::isnan(x)) return "nan<" + cpp_type_name(t) + ">()";
    o << std::setprecision(t.bits() == 64 ? 17 : t.bits() == 32 ? 9
                                                                : 5)
      << x;
    // The shortest text that reads back as the same value.
    for (int digits = 1; digits < 17; digits++) {
        std::ostringstream s;
        s << std::setprecision(digits) << x;
        double back = std::stod(s.str());
        if (t.bits() == 64 ? back == x : float(back) == float(x)) {
            o.str(s.str());
            break;
        }
    }
    std::string s = o.str();
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    if (is_float16(t)) return cpp_type_name(t) + "(" + s + ")";
    return t.bits() == 32 ? s + "f" : s;
}

class Printer {
    const Graph &g;
    mutable int left = 1000;  // operations; a part that is used many times is written out many times

    std::string binary(const Expr &a, const char *op, const Expr &b, Strength s, Strength outer) const {
        std::string t = print(a, s) + " " + op + " " + print(b, Strength(s + 1));
        return outer > s ? "(" + t + ")" : t;
    }
    std::string arguments(const std::vector<Expr> &args) const {
        std::string s;
        for (auto &a : args) s += (s.empty() ? "" : ", ") + print(a, Ternary);
        return "(" + s + ")";
    }
    std::string call(const Call *c, Strength outer) const {
        if (c->name.rfind("strict_", 0) == 0 && c->args.size() == 2) {
            static const std::map<std::string, std::pair<const char *, Strength>> ops = {
                {"strict_add", {"+", Additive}},
                {"strict_sub", {"-", Additive}},
                {"strict_mul", {"*", Multiplicative}},
                {"strict_div", {"/", Multiplicative}},
                {"strict_lt", {"<", Relational}},
                {"strict_le", {"<=", Relational}},
                {"strict_eq", {"==", Equality}},
            };
            auto it = ops.find(c->name);
            if (it != ops.end()) return binary(c->args[0], it->second.first, c->args[1], it->second.second, outer);
        }
        std::string name = c->name;
        if (name == "stretto_random" && random_stream(c) < 0) return "random(" + print(c->args[0], Ternary) + ")";
        if (name == "stretto_random" && c->args.size() > 2) {
            std::string indices = arguments({c->args.begin() + 2, c->args.end()});
            return "random(" + print(c->args[0], Ternary) + ", " + print(c->args[1], Ternary) + ", {" +
                   indices.substr(1, indices.size() - 2) + "})";
        }
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
        if (const Call *c = e.as<Call>()) {
            if (as_access(e)) return g.at(accessed(c)).name + arguments(indices_of(c));
            return call(c, outer);
        }
        if (const Cast *x = e.as<Cast>()) return "cast<" + cpp_type_name(x->type) + ">(" + print(x->value, Ternary) + ")";
        if (const Reinterpret *x = e.as<Reinterpret>())
            return "reinterpret<" + cpp_type_name(x->type) + ">(" + print(x->value, Ternary) + ")";
        if (const Add *x = e.as<Add>()) return binary(x->a, "+", x->b, Additive, outer);
        if (const Sub *x = e.as<Sub>()) {
            if (is_const_zero(x->a)) {
                std::string t = "-" + print(x->b, Unary);
                return outer > Unary ? "(" + t + ")" : t;
            }
            return binary(x->a, "-", x->b, Additive, outer);
        }
        if (const Mul *x = e.as<Mul>()) return binary(x->a, "*", x->b, Multiplicative, outer);
        if (const Div *x = e.as<Div>()) return binary(x->a, "/", x->b, Multiplicative, outer);
        if (const Mod *x = e.as<Mod>()) return binary(x->a, "%", x->b, Multiplicative, outer);
        if (const LT *x = e.as<LT>()) return binary(x->a, "<", x->b, Relational, outer);
        if (const LE *x = e.as<LE>()) return binary(x->a, "<=", x->b, Relational, outer);
        if (const GT *x = e.as<GT>()) return binary(x->a, ">", x->b, Relational, outer);
        if (const GE *x = e.as<GE>()) return binary(x->a, ">=", x->b, Relational, outer);
        if (const EQ *x = e.as<EQ>()) return binary(x->a, "==", x->b, Equality, outer);
        if (const NE *x = e.as<NE>()) return binary(x->a, "!=", x->b, Equality, outer);
        if (const And *x = e.as<And>()) return binary(x->a, "&&", x->b, AndOp, outer);
        if (const Or *x = e.as<Or>()) return binary(x->a, "||", x->b, OrOp, outer);
        if (const Not *x = e.as<Not>()) return "!" + print(x->a, Unary);
        if (const Halide::Internal::Max *x = e.as<Halide::Internal::Max>()) return "max" + arguments({x->a, x->b});
        if (const Halide::Internal::Min *x = e.as<Halide::Internal::Min>()) return "min" + arguments({x->a, x->b});
        if (const Select *x = e.as<Select>())
            return "select" + arguments({x->condition, x->true_value, x->false_value});
        if (const Let *x = e.as<Let>()) return print(Halide::Internal::substitute(x->name, x->value, x->body), outer);
        std::ostringstream o;
        o << e;
        return o.str();
    }
};

std::string names(const Names &v) {
    std::string s;
    for (auto &x : v) s += (s.empty() ? "" : ", ") + x;
    return s;
}

std::string extents(const Graph &g, const Dims &dims) {
    return "[" + to_string(g, dims) + "]";
}

// A communication of a plain tensor is written with the tensor, not its elements.
std::string operand(const Graph &g, const Node &n) {
    const Call *c = as_access(n.source);
    if (c && c->args.size() == n.dimensions() + 1) {
        bool plain = true;
        auto idx = indices_of(c);
        for (size_t d = 0; d < idx.size(); d++) plain &= bare_index(idx[d]) == n.domain[d].name;
        if (plain) return g.at(accessed(c)).name;
    }
    return to_string(g, n.source);
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
    std::string text = std::string(verbs[n.reduce_op()]) + "(" + (k.size() == 1 ? k[0] : "{" + names(k) + "}") + ", " +
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
    std::string left = n.name + (n.is_communication() ? "" : "(" + names(n.vars()) + ")");
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
