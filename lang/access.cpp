#include "lang/access.h"
#include <algorithm>

namespace stretto {

using namespace Halide::Internal;

namespace {

const char *const access_name = "stretto_at";
const char *const scalar_prefix = "scalar.", *const size_prefix = "size.", *const plan_prefix = "plan.",
                  *const ranks_name = "world.ranks", *const rank_name = "world.rank", *const let_prefix = "let.";

bool has_prefix(const std::string &s, const char *prefix) {
    return s.rfind(prefix, 0) == 0;
}

class AccessVisitor : public IRVisitor {
    const std::function<void(const Call *)> &f;
    using IRVisitor::visit;
    void visit(const Call *c) override {
        IRVisitor::visit(c);
        if (c->name == access_name) f(c);
    }

public:
    explicit AccessVisitor(const std::function<void(const Call *)> &f) : f(f) {
    }
};

class AccessMutator : public IRMutator {
    const std::function<Expr(const Call *)> &f;
    using IRMutator::visit;
    Expr visit(const Call *c) override {
        Expr e = IRMutator::visit(c);
        const Call *a = as_access(e);
        return a ? f(a) : e;
    }

public:
    explicit AccessMutator(const std::function<Expr(const Call *)> &f) : f(f) {
    }
};

class SymbolVisitor : public IRVisitor {
    using IRVisitor::visit;
    std::vector<std::string> bound;
    void visit(const Variable *v) override {
        if (std::find(bound.begin(), bound.end(), v->name) == bound.end()) symbols.push_back(symbol_of(Expr(v)));
    }
    void visit(const Let *l) override {
        l->value.accept(this);
        bound.push_back(l->name);
        l->body.accept(this);
        bound.pop_back();
    }
    void visit(const Call *c) override {
        if (c->name == access_name) access = true;
        IRVisitor::visit(c);
    }

public:
    std::vector<Symbol> symbols;
    bool access = false;
    explicit SymbolVisitor(const Expr &e) {
        if (e.defined()) e.accept(this);
    }
    bool any(Symbol::Kind kind) const {
        return std::any_of(symbols.begin(), symbols.end(), [=](const Symbol &s) { return s.kind == kind; });
    }
};

}  // namespace

Expr access(NodeId id, const Type &t, const std::vector<Expr> &indices) {
    std::vector<Expr> args{IntImm::make(Halide::Int(32), id)};
    args.insert(args.end(), indices.begin(), indices.end());
    return Call::make(t, access_name, args, Call::PureExtern);
}

const Call *as_access(const Expr &e) {
    const Call *c = e.as<Call>();
    return c && c->name == access_name ? c : nullptr;
}

NodeId accessed(const Call *c) {
    return NodeId(*Halide::Internal::as_const_int(c->args[0]));
}

std::vector<Expr> indices_of(const Call *c) {
    return {c->args.begin() + 1, c->args.end()};
}

void for_each_access(const Expr &e, const std::function<void(const Call *)> &f) {
    AccessVisitor v(f);
    if (e.defined()) e.accept(&v);
}

Expr map_accesses(const Expr &e, const std::function<Expr(const Call *)> &f) {
    return e.defined() ? AccessMutator(f).mutate(e) : e;
}

Expr redirect(const Expr &e, NodeId from, NodeId to) {
    return map_accesses(e, [&](const Call *c) {
        return accessed(c) == from ? access(to, c->type, indices_of(c)) : Expr(c);
    });
}

std::vector<NodeId> nodes_read(const Expr &e) {
    std::vector<NodeId> ids;
    for_each_access(e, [&](const Call *c) {
        if (std::find(ids.begin(), ids.end(), accessed(c)) == ids.end()) ids.push_back(accessed(c));
    });
    return ids;
}

Expr index(const std::string &name) {
    return Variable::make(Halide::Int(32), name);
}

std::string bare_index(const Expr &e) {
    Symbol s = symbol_of(e);
    return s.kind == Symbol::Index ? s.name : "";
}

std::string default_index(int d) {
    return d < 4 ? std::string(1, char('i' + d)) : "d" + std::to_string(d);
}

std::vector<Expr> index_exprs(const std::vector<std::string> &names) {
    std::vector<Expr> r;
    for (auto &n : names) r.push_back(index(n));
    return r;
}

std::vector<std::string> indices_used(const Expr &e) {
    std::vector<std::string> names;
    for (auto &s : SymbolVisitor(e).symbols)
        if (s.kind == Symbol::Index && std::find(names.begin(), names.end(), s.name) == names.end())
            names.push_back(s.name);
    return names;
}

Expr substitute_indices(const Expr &e, const std::vector<std::string> &names, const std::vector<Expr> &values) {
    std::map<std::string, Expr> m;
    for (size_t i = 0; i < names.size(); i++) m[names[i]] = values[i];
    return e.defined() ? Halide::Internal::substitute(m, e) : e;
}

Expr scalar_argument(const Type &t, const std::string &name) {
    return Variable::make(t, scalar_prefix + name);
}

Expr size_value(const std::string &name) {
    return Variable::make(Halide::Int(64), size_prefix + name);
}

Expr plan_scalar(const Type &t, int number) {
    return Variable::make(t, plan_prefix + std::to_string(number));
}

Expr ranks_value() {
    return Variable::make(Halide::Int(32), ranks_name);
}

Expr rank_value() {
    return Variable::make(Halide::Int(32), rank_name);
}

Symbol symbol_of(const Expr &e) {
    const Variable *v = e.as<Variable>();
    if (!v) return {};
    const std::string &n = v->name;
    if (n == ranks_name) return {Symbol::Ranks, "ranks"};
    if (n == rank_name) return {Symbol::Rank, "rank"};
    if (has_prefix(n, scalar_prefix)) return {Symbol::Scalar, n.substr(7)};
    if (has_prefix(n, size_prefix)) return {Symbol::Size, n.substr(5)};
    if (has_prefix(n, plan_prefix)) return {Symbol::PlanScalar, n.substr(5), std::stoi(n.substr(5))};
    if (has_prefix(n, let_prefix)) return {Symbol::Let, n.substr(4)};
    return {Symbol::Index, n};
}

bool has_index(const Expr &e) {
    SymbolVisitor v(e);
    return v.access || v.any(Symbol::Index) || v.any(Symbol::Let);
}

bool is_constant(const Expr &e) {
    SymbolVisitor v(e);
    return !v.access && v.symbols.empty();
}

bool uses_rank(const Expr &e) {
    return SymbolVisitor(e).any(Symbol::Rank);
}

}  // namespace stretto
