#include "tests/random/sketch.h"
#include <algorithm>

namespace stretto {

using namespace Halide::Internal;

// ---- from definitions

namespace {

class Sketching {
    Sketch &s;
    std::map<const Definition *, int> known;
    std::vector<DefinitionPtr> definitions;
    CallMutator reads{[this](const Call *c, CallMutator &self) -> Expr {
        DefinitionPtr d = referenced(Expr(c));
        if (!d) return {};
        const std::vector<Expr> at = self.mutate(indices_of(c));
        if (d->anonymous) return self.mutate(substitute_indices(d->value, d->vars, at));
        return access(tensor(d), c->type, at);
    }};

    int tensor(const DefinitionPtr &d) {
        auto [at, fresh] = known.insert({d.get(), int(s.tensors.size())});
        const Type type = d->declared ? d->declared_type.get() : Type();
        if (fresh) s.tensors.push_back({d->name, d->declared, type, d->extents, d->layout});
        return at->second;
    }
    void collect(const DefinitionPtr &d) {
        if (std::find(definitions.begin(), definitions.end(), d) != definitions.end()) return;
        for_each_call(d->value, [&](const Call *c) {
            if (DefinitionPtr operand = referenced(Expr(c))) collect(operand);
        });
        if (d->defined) definitions.push_back(d);
    }
    Sketch::Statement statement(const DefinitionPtr &d) {
        Sketch::Statement x;
        x.tensor = tensor(d);
        x.left = index_exprs(d->vars);
        x.value = reads.mutate(d->value);
        x.type = d->type;
        if (const Call *c = as_access(x.value)) x.operand = accessed(c);
        if (auto *m = std::get_if<Map>(&d->op); m && m->slice >= 0) x.verb = "slice_of", x.number = m->slice;
        if (auto *c = std::get_if<Communication>(&d->op)) {
            x.verb = c->reduce                     ? (c->to_dim ? "reduce_scatter" : "all_reduce")
                     : c->from.kind == From::Owner ? "all_gather"
                     : c->from.kind == From::Shift ? "shift"
                                                   : "broadcast";
            x.number = c->to_dim ? *c->to_dim : c->from.kind == From::Shift ? -c->from.value
                                                                            : c->from.value;
            x.edge = c->outside.defined() ? Edge{Edge::Fill, c->outside} : c->from.cyclic ? cyclic
                                                                                          : keep;
        }
        return x;
    }

public:
    Sketching(Sketch &s, const std::vector<ArgumentRef> &arguments) : s(s) {
        for (auto &a : arguments) {
            Sketch::Argument x{a.access, -1, a.name, a.scalar_type, {}, *a.range};
            if (!a.scalar) x.tensor = tensor(a.definition);
            s.listed.push_back(int(s.arguments.size()));
            s.arguments.push_back(x);
        }
        for (auto &a : arguments) {
            if (a.update && *a.update) collect(*a.update);
            if (a.access == Access::Output) collect(a.definition);
        }
        std::stable_sort(definitions.begin(), definitions.end(), [](auto &a, auto &b) { return a->ordinal < b->ordinal; });
        for (auto &d : definitions)
            if (!d->anonymous) s.statements.push_back(statement(d));
        for (size_t k = 0; k < arguments.size(); k++)
            if (arguments[k].update && *arguments[k].update) s.arguments[k].updates = {tensor(*arguments[k].update)};
    }
};

}  // namespace

Sketch sketch_of(const std::vector<ArgumentRef> &arguments) {
    Sketch s;
    Sketching(s, arguments);
    return s;
}

// ---- expressions

Expr Writer::mutate(const Expr &e) {
    if (!sketch.instead || writing || !e.same_as(sketch.site)) return IRGraphMutator::mutate(e);
    if (!is_changed) {
        writing = is_changed = true;
        changed = sketch.instead(*this, e);
        writing = false;
    }
    return changed;
}

Expr Writer::as_it_is(const Expr &e) const {
    Writer other = *this;
    other.writing = true;
    other.expr_replacements.clear();  // of a part that is being written it has no value yet
    return other.mutate(e);
}

Expr Writer::operand(const Expr &e) {
    Expr x = mutate(e);
    if (!x.defined()) throw NotWritten();
    return x;
}

#define STRETTO_WRITES(NODE, OP) \
    Expr Writer::visit(const NODE *x) { return mutate(x->a) OP mutate(x->b); }
STRETTO_WRITES(Add, +)
STRETTO_WRITES(Sub, -)
STRETTO_WRITES(Mul, *)
STRETTO_WRITES(Div, /)
STRETTO_WRITES(Mod, %)
STRETTO_WRITES(LT, <)
STRETTO_WRITES(LE, <=)
STRETTO_WRITES(GT, >)
STRETTO_WRITES(GE, >=)
STRETTO_WRITES(EQ, ==)
STRETTO_WRITES(NE, !=)
#undef STRETTO_WRITES
Expr Writer::visit(const And *x) { return operand(x->a) && operand(x->b); }
Expr Writer::visit(const Or *x) { return operand(x->a) || operand(x->b); }
Expr Writer::visit(const Halide::Internal::Max *x) { return max(mutate(x->a), mutate(x->b)); }
Expr Writer::visit(const Halide::Internal::Min *x) { return min(mutate(x->a), mutate(x->b)); }
Expr Writer::visit(const Not *x) { return !mutate(x->a); }
Expr Writer::visit(const Select *x) {
    return select(operand(x->condition), operand(x->true_value), operand(x->false_value));
}
Expr Writer::visit(const Cast *x) { return Halide::cast(x->type, mutate(x->value)); }

// A scalar has the type that its argument has now.
Expr Writer::visit(const Variable *v) {
    const Symbol s = symbol_of(Expr(v));
    if (s.kind == Symbol::Scalar)
        for (auto &a : sketch.arguments)
            if (a.tensor < 0 && a.name == s.name) return scalar_argument(a.type, a.name);
    return Expr(v);
}

Expr Writer::visit(const Call *c) {
    if (as_access(Expr(c))) return read(accessed(c), mutate(indices_of(c)));
    if (c->name == "stretto_reduce") {
        std::vector<Var> over;
        for (size_t k = 4; k < c->args.size(); k++) over.emplace_back(bare_index(c->args[k]));
        IndexReduction r(ReduceOp(*as_const_int(c->args[1])), over, mutate(c->args[0]));
        if (int split = int(*as_const_int(c->args[2]))) r = r.blocks(over[size_t(split)]);
        return *as_const_int(c->args[3]) ? r.any_order() : r;
    }
    std::vector<Expr> args;
    for (auto &a : c->args) {
        Expr x = mutate(a);
        args.push_back(x.defined() && x.type() == a.type() ? x : Halide::cast(a.type(), x));
    }
    return Call::make(c->type, c->name, args, c->call_type);
}

// ---- statements

namespace {

template <class T>
ArgumentRef scalar(const Sketch::Argument &a) {
    Input<T> x{a.name};
    return a.range.first == a.range.second ? ArgumentRef(x) : ArgumentRef(x.range(a.range.first, a.range.second));
}
ArgumentRef scalar_of(const Sketch::Argument &a) {
    const Type &t = a.type;
    return t == f64      ? scalar<double>(a)
           : t == i64    ? scalar<int64_t>(a)
           : t == u64    ? scalar<uint64_t>(a)
           : t == i32    ? scalar<int>(a)
           : t == u8     ? scalar<uint8_t>(a)
           : t.is_bool() ? scalar<bool>(a)
                         : scalar<float>(a);
}

}  // namespace

void Writer::declare() {
    for (auto &t : sketch.tensors)
        tensors.push_back(t.declared ? Tensor(t.name, t.type, t.extents, t.layout) : Tensor(t.name));
    for (auto &a : sketch.arguments) {
        if (a.tensor < 0) {
            arguments.push_back(scalar_of(a));
            continue;
        }
        auto &t = sketch.tensors[size_t(a.tensor)];
        Tensor &here = tensors[size_t(a.tensor)];
        auto add = [&](auto argument) {
            if (a.range.first != a.range.second) argument.range(a.range.first, a.range.second);
            here = argument;
            arguments.push_back(argument);
            return argument;
        };
        if (a.access == Access::Input) add(Input<Tensor>{t.name, t.type, t.extents, t.layout});
        if (a.access == Access::InOut) in_outs.emplace(a.tensor, add(InOut<Tensor>{t.name, t.type, t.extents, t.layout}));
        if (a.access == Access::Output) {
            Output<Tensor> o{t.name, t.type, t.extents, t.layout};
            here = o;
            arguments.push_back(o);
        }
    }
}

void Writer::state(const Sketch::Statement &x) {
    Tensor t = tensor(x.tensor);
    if (x.verb.empty()) {
        TensorRef(t.definition(), x.left) = mutate(x.value);
        return;
    }
    const Tensor &of = tensor(x.operand);
    const bool typed = x.type.bits() && of.definition()->element_type() != x.type;
    t = x.verb == "all_reduce"       ? (typed ? all_reduce(of, x.type) : all_reduce(of))
        : x.verb == "reduce_scatter" ? (typed ? reduce_scatter(of, x.number, x.type) : reduce_scatter(of, x.number))
        : x.verb == "all_gather"     ? all_gather(of)
        : x.verb == "broadcast"      ? broadcast(of, x.number)
        : x.verb == "shift"          ? shift(of, x.number, x.edge.kind == Edge::Fill ? fill(mutate(x.edge.value)) : x.edge)
                                     : slice_of(of, x.number);
}

Program Writer::program(const std::string &name) {
    declare();
    for (auto &x : sketch.statements) state(x);
    for (auto &a : sketch.arguments)
        for (int value : a.updates) update(in_outs.at(a.tensor), tensor(value));
    std::vector<ArgumentRef> listed;
    for (int k : sketch.listed) listed.push_back(arguments.at(size_t(k)));
    std::vector<Requirement> requirements;
    for (auto &r : sketch.requirements) requirements.push_back({mutate(r.condition), r.text});
    return Program(name, listed, requirements);
}

Program write(const Sketch &s, const std::string &name) { return Writer(s).program(name); }

}  // namespace stretto
