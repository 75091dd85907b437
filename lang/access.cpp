#include "lang/access.h"
#include <algorithm>
#include <cstring>
#include <set>
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

const char *const access_name = "stretto_at";
const char *const scalar_prefix = "scalar.", *const size_prefix = "size.", *const plan_prefix = "plan.",
                  *const ranks_name = "world.ranks", *const rank_name = "world.rank", *const let_prefix = "let.";

class PartVisitor : public IRGraphVisitor {
    const std::function<void(const Expr &)> &f;
    std::set<const IRNode *> seen;

public:
    explicit PartVisitor(const std::function<void(const Expr &)> &f) : f(f) {
    }
    void include(const Expr &e) override {
        if (!seen.insert(e.get()).second) return;
        e.accept(this);
        f(e);
    }
};

// At once: a value may use the names.
class Substitution : public IRGraphMutator {
    const std::map<std::string, Expr> &values;
    using IRGraphMutator::visit;
    Expr visit(const Variable *v) override {
        auto it = values.find(v->name);
        return it == values.end() ? Expr(v) : it->second;
    }

public:
    explicit Substitution(const std::map<std::string, Expr> &values) : values(values) {
    }
};

bool holds(const Expr &e, Symbol::Kind kind) {
    auto symbols = symbols_in(e);
    return std::any_of(symbols.begin(), symbols.end(), [=](const Symbol &s) { return s.kind == kind; });
}

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

void for_each_part(const Expr &e, const std::function<void(const Expr &)> &f) {
    if (e.defined()) PartVisitor(f).include(e);
}

void for_each_call(const Expr &e, const std::function<void(const Call *)> &f) {
    for_each_part(e, [&](const Expr &x) {
        if (const Call *c = x.as<Call>()) f(c);
    });
}

void for_each_access(const Expr &e, const std::function<void(const Call *)> &f) {
    for_each_part(e, [&](const Expr &x) {
        if (const Call *c = as_access(x)) f(c);
    });
}

Expr CallMutator::visit(const Call *c) {
    Expr r = f(c, *this);
    return r.defined() ? r : IRGraphMutator::visit(c);
}

Expr map_accesses(const Expr &e, const std::function<Expr(const Call *)> &f) {
    if (!e.defined()) return e;
    CallMutator mapping([&](const Call *c, CallMutator &self) -> Expr {
        if (!as_access(Expr(c))) return {};
        const Expr a = access(accessed(c), c->type, self.mutate(indices_of(c)));
        return f(a.as<Call>());
    });
    return mapping.mutate(e);
}

Expr redirect(const Expr &e, NodeId from, NodeId to) {
    return map_accesses(e, [&](const Call *c) {
        return accessed(c) == from ? access(to, c->type, indices_of(c)) : Expr(c);
    });
}

std::vector<NodeId> nodes_read(const Expr &e) {
    std::vector<NodeId> ids;
    for_each_access(e, [&](const Call *c) {
        if (!contains(ids, accessed(c))) ids.push_back(accessed(c));
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
    return mapped(names, index);
}

bool are_indices(const std::vector<Expr> &indices, const std::vector<std::string> &names) {
    return mapped(indices, bare_index) == names;
}

std::vector<std::string> indices_used(const Expr &e) {
    std::vector<std::string> names;
    for (auto &s : symbols_in(e))
        if (s.kind == Symbol::Index) names.push_back(s.name);
    return names;
}

Expr substitute_indices(const Expr &e, const std::vector<std::string> &names, const std::vector<Expr> &values) {
    std::map<std::string, Expr> m;
    for (size_t i = 0; i < names.size(); i++) m[names[i]] = values[i];
    return e.defined() ? Substitution(m).mutate(e) : e;
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
    static const std::pair<Symbol::Kind, const char *> prefixes[] = {
        {Symbol::Scalar, scalar_prefix},
        {Symbol::Size, size_prefix},
        {Symbol::PlanScalar, plan_prefix},
        {Symbol::Let, let_prefix}};
    for (auto &[kind, prefix] : prefixes)
        if (n.rfind(prefix, 0) == 0) {
            const std::string rest = n.substr(std::strlen(prefix));
            return {kind, rest, kind == Symbol::PlanScalar ? std::stoi(rest) : -1};
        }
    return {Symbol::Index, n};
}

std::vector<Symbol> symbols_in(const Expr &e) {
    std::vector<Expr> variables;
    std::set<std::string> seen, bound;
    for_each_part(e, [&](const Expr &x) {
        if (const Let *l = x.as<Let>()) bound.insert(l->name);
        const Variable *v = x.as<Variable>();
        if (v && seen.insert(v->name).second) variables.push_back(x);
    });
    std::vector<Symbol> symbols;
    for (auto &v : variables)
        if (!bound.count(v.as<Variable>()->name)) symbols.push_back(symbol_of(v));
    return symbols;
}

bool has_index(const Expr &e) {
    return !nodes_read(e).empty() || holds(e, Symbol::Index) || holds(e, Symbol::Let);
}

bool uses_rank(const Expr &e) {
    return holds(e, Symbol::Rank);
}

}  // namespace stretto
