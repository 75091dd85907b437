#include "lang/shared_parts.h"
#include <algorithm>

namespace stretto {

using namespace Halide::Internal;

std::vector<Expr> operands(const Expr &e) {
    struct Operands : IRGraphVisitor {
        std::vector<Expr> all;
        void include(const Expr &x) override {
            all.push_back(x);
        }
    } o;
    e.accept(&o);
    return o.all;
}

const Holdings::Holding &Holdings::of(const Expr &e) {
    auto it = known.find(e);
    if (it != known.end()) return it->second;
    const Symbol s = symbol_of(e);
    Holding h{as_access(e) || s.kind == Symbol::Index, as_access(e) || s.kind != Symbol::None, {}};
    if (s.kind == Symbol::Let) h.lets.insert(s.name);
    for (auto &x : operands(e)) {
        const Holding &part = of(x);
        h.index |= part.index;
        h.symbol |= part.symbol;
        h.lets.insert(part.lets.begin(), part.lets.end());
    }
    if (const Let *l = e.as<Let>()) h.lets.erase(symbol_of(Variable::make(l->value.type(), l->name)).name);
    return known[e] = std::move(h);
}

namespace {

thread_local int next_let = 0;

class RenameLets : public IRGraphMutator {
    using IRGraphMutator::visit;
    Expr visit(const Let *l) override {
        Expr value = mutate(l->value);
        if (symbol_of(Variable::make(value.type(), l->name)).kind == Symbol::Let)
            return Let::make(l->name, value, mutate(l->body));
        std::string name = new_let();
        Expr body = graph_substitute(l->name, Variable::make(value.type(), name), l->body);
        return Let::make(name, value, mutate(body));
    }
};

class BindShared : public IRMutator {
    std::map<const IRNode *, int> uses;
    std::map<const IRNode *, Expr> made;
    std::vector<std::pair<std::string, Expr>> bound;
    Holdings holdings;

    void count(const Expr &e) {
        for (auto &x : operands(e))
            if (uses[x.get()]++ == 0) count(x);
    }
    static bool is_short(const Expr &e) {
        if (const Call *c = as_access(e)) {
            std::vector<Expr> indices = indices_of(c);
            return std::all_of(indices.begin(), indices.end(), [](auto &i) { return is_short(i); });
        }
        return e.as<Variable>() || is_const(e) || e.type().is_handle();
    }
    using IRMutator::visit;
    Expr visit(const Let *l) override {
        bound.push_back({l->name, mutate(l->value)});
        return mutate(l->body);
    }

public:
    using IRMutator::mutate;
    Expr mutate(const Expr &e) override {
        if (is_short(e) || holdings.of(e).is_scalar()) return e;
        auto known = made.find(e.get());
        if (known != made.end()) return known->second;
        Expr r = IRMutator::mutate(e);
        if (uses[e.get()] > 1 && !is_short(r)) {
            bound.push_back({new_let(), r});
            r = Variable::make(r.type(), bound.back().first);
        }
        return made[e.get()] = r;
    }
    Expr whole(const Expr &e) {
        count(e);
        Expr r = mutate(e);
        for (auto it = bound.rbegin(); it != bound.rend(); ++it) r = Let::make(it->first, it->second, r);
        return r;
    }
};

}  // namespace

std::string new_let() {
    return "let." + std::to_string(next_let++);
}

void number_lets_from_zero() {
    next_let = 0;
}

Expr rename_lets(const Expr &e) {
    return RenameLets().mutate(e);
}

Expr bind_shared(const Expr &e) {
    Expr named = rename_lets(e);
    if (const Mul *m = named.as<Mul>()) return Mul::make(BindShared().whole(m->a), BindShared().whole(m->b));
    return BindShared().whole(named);
}

}  // namespace stretto
