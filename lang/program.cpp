#include "lang/program.h"
#include <algorithm>
#include <set>
#include <tuple>
#include "lang/check_expression.h"
#include "lang/expand.h"
#include "lang/infer.h"
#include "lang/print.h"
#include "lang/shared_parts.h"
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

// Builds the graph: definitions are collected from the arguments' updates and outputs, anonymous ones are written out,
// reductions become nodes, layouts are inferred, and machine values derived from what the user wrote.
class Builder {
    Graph &g;
    const std::vector<ArgumentRef> &arguments;
    std::vector<DefinitionPtr> definitions;  // named ones that the results need
    std::set<const Definition *> visited;
    std::map<const Definition *, NodeId> node_of;
    std::set<std::string> tensor_names;  // of definitions, and of arguments that are read
    std::set<int> streams;               // that random(...) names, or has got
    std::map<const Call *, NodeId> node_of_reduction;
    std::map<const Definition *, std::vector<std::pair<std::vector<Expr>, Expr>>> anonymous;  // written out, by their indices
    CallMutator written_out{[this](const Call *c, CallMutator &self) { return write_out(c, self); }},
        in_graph{[this](const Call *c, CallMutator &self) { return to_access(c, self); }};

    [[noreturn]] void fail(const std::string &why, const std::string &legal) const {
        throw Error("In program " + g.program + ": " + why + ".\nLegal: " + legal);
    }
    [[noreturn]] void same_name(const std::string &both, const std::string &name) const {
        fail(both + " called " + name, "a name of its own for each");
    }

    Dims dims_of(const Definition &d) {
        Dims dims;
        for (auto &e : d.extents) {
            if (e.size_name().empty()) {
                if (e.value() < 0) fail(d.name + " has the extent " + std::to_string(e.value()), "0 and above");
                dims.push_back({Dim::Constant, e.value()});
                continue;
            }
            auto it = std::find(g.sizes.begin(), g.sizes.end(), e.size_name());
            if (it == g.sizes.end()) it = g.sizes.insert(g.sizes.end(), e.size_name());
            dims.push_back({Dim::Size, it - g.sizes.begin()});
        }
        return dims;
    }

    // Anonymous tensors are written out where they are read. A call of random without a stream gets one: the same wherever
    // that call is used.
    Expr write_out(const Call *c, CallMutator &self) {
        if (DefinitionPtr d = referenced(Expr(c)); d && d->anonymous) {
            const std::vector<Expr> at = self.mutate(indices_of(c));
            auto &known = anonymous[d.get()];
            auto same = [&](auto &one) {
                return std::equal(at.begin(), at.end(), one.first.begin(), [](auto &a, auto &b) { return graph_equal(a, b); });
            };
            auto it = std::find_if(known.begin(), known.end(), same);
            if (it != known.end()) return it->second;
            Expr e = self.mutate(substitute_indices(d->value, d->vars, at));
            anonymous[d.get()].push_back({at, e});
            return e;
        }
        if (!is_random_without_stream(c)) return Expr();
        int stream = 0;
        while (!streams.insert(stream).second) stream++;
        return with_stream(c, stream);
    }

    Expr to_access(const Call *c, CallMutator &self) {
        DefinitionPtr d = referenced(Expr(c));
        return d ? access(node_of.at(d.get()), c->type, self.mutate(indices_of(c))) : Expr();
    }

    bool is_listed(const Definition &d) const {
        return std::any_of(arguments.begin(), arguments.end(), [&](auto &a) { return a.definition.get() == &d; });
    }

    void collect(const DefinitionPtr &d) {
        if (!visited.insert(d.get()).second) return;
        if (d->declared) check_declared(*d, g.program);
        if (!d->anonymous) check_expression(d->value, "the definition of " + d->name, g.program);
        if (!d->defined) {
            if (!d->argument)
                fail(d->name + " is not defined", d->name + "(i, ...) = ... or " + d->name + " = all_reduce(...)");
            if (!is_listed(*d)) fail(d->name + " is read but is not among the program's arguments", "add it to the arguments");
            return;
        }
        if (!d->anonymous && !tensor_names.insert(d->name).second) same_name("two tensors are", d->name);
        for_each_call(d->value, [&](const Call *c) {
            if (DefinitionPtr operand = referenced(Expr(c))) collect(operand);
            if (int stream = random_stream(c); stream >= 0) streams.insert(stream);
        });
        if (!d->anonymous) definitions.push_back(d);
    }

    // op_over(...) inside e becomes a node (two for a reduction over all indices, which shares no index with those around
    // it), and e reads it. scope: the indices that mean something around e; whole: e is all of user's definition.
    Expr hoist_reductions(const Expr &e, Node &user, const Names &scope, bool whole, int &made) {
        CallMutator mutator([&](const Call *c, CallMutator &) -> Expr {
            if (c->name != "stretto_reduce") return Expr();
            auto [known, fresh] = node_of_reduction.insert({c, -1});
            if (fresh) known->second = add_reduction(c, user, scope, whole && c == e.as<Call>(), made);
            const Node &r = g.at(known->second);
            return access(r.id, r.type, index_exprs(r.vars()));
        });
        return mutator.mutate(e);
    }

    NodeId add_reduction(const Call *c, Node &user, const Names &scope, bool whole, int &made) {
        const Origin inner{Role::Inner, user.id, made++};
        Names reduced, around = scope, free;
        for (size_t i = 4; i < c->args.size(); i++) {
            reduced.push_back(bare_index(c->args[i]));
            if (contains(scope, reduced.back()))
                fail(user.name + ": index " + reduced.back() +
                         (contains(user.vars(), reduced.back()) ? " is reduced and stands on the left side too"
                                                                : " is reduced inside a reduction over it"),
                     "another Var");
            around.push_back(reduced.back());
        }
        Node r;
        r.source = hoist_reductions(c->args[0], user, around, false, made);
        const Names used = indices_used(r.source);
        for (auto &v : used)
            if (!contains(around, v))
                fail(user.name + ": index " + v + " is neither reduced nor on the left side",
                     "reduce over it too, or put it on the left side");
        for (auto &v : scope)
            if (contains(used, v)) free.push_back(v);
        const bool own = whole && free == user.vars();  // the definition is this reduction
        const ReduceOp op = ReduceOp(*as_const_int(c->args[1]));
        const bool any = *as_const_int(c->args[3]) != 0;
        auto take_name = [&](Node &x) {  // that of the tensor, or one that follows from it
            if (own) x.id = user.id, x.name = user.name;
            else x.origin = inner;
        };
        r.type = c->type;
        r.accumulator = accumulator_type(r.type);
        for (auto &v : free) {  // with the extents of the tensor that it defines, if that is declared
            Index i{v};
            for (auto &u : user.domain)
                if (u.name == v) i.extent = u.extent;
            r.domain.push_back(i);
        }
        for (auto &v : reduced) r.domain.push_back({v, {}, {}, true});
        if (!free.empty()) {
            r.op = Reduction{op, any};
            take_name(r);
            return add(r);
        }
        Node f;
        f.op = Fold{op};
        f.type = r.type;
        f.accumulator = r.accumulator;
        take_name(f);
        if (!own) f.id = g.reserve(g.name_from(f), inner);
        // An index of its own, whatever the user's are called.
        std::string block = "block";
        while (contains(around, block)) block += "_";
        r.op = Blocks{op, int(*as_const_int(c->args[2])), any, -1};
        r.type = r.accumulator;
        r.domain.insert(r.domain.begin(), {block, {Dim::Ranks, 0}});
        r.origin = {Role::Blocks, f.id, 0};
        NodeId blocks = add(r);
        if (g.at(blocks).layout.is_sliced())  // each rank has its own block's result: exchange them
            blocks = add(g.communication({Role::AllGather, blocks, 0}, {{From::Owner, {world_axis}, 0, 0}, {}}, g.at(blocks)));
        f.domain = {{block, {Dim::Ranks, 0}, {}, true}};
        f.source = access(blocks, r.type, {index(block)});
        return add(f);
    }
    NodeId add(const Node &n) {
        NodeId id = g.add(n).id;
        infer_node(g, id);
        return id;
    }

    // Of a tensor of the program's own, or an output, that is declared.
    void check_declaration(const Definition &d, const Dims &declared, const Node &defined) const {
        const Dims dims = defined.dims();
        if (declared != dims)
            fail(d.name + " is declared with the extents {" + to_string(g, declared) + "}, and its definition has {" +
                     to_string(g, dims) + "}",
                 "the same extents in both");
        if (is_listed(d) || d.layout.is_replicated() || d.layout == defined.layout) return;  // outputs: with the results
        const std::string found = stretto::to_string(defined.layout);
        fail(d.name + " is declared " + stretto::to_string(d.layout) + ", and its definition is " + found,
             "declare it " + found + ", or without a layout, which is inferred");
    }

    // Scalars are arguments; a size that no tensor has is a parameter of the program. where: says what reads them.
    void check_symbols(const Expr &e, const std::function<std::string()> &where) {
        for (auto &s : symbols_in(e)) {
            auto is = [&](const Argument &a) { return a.scalar && a.name == s.name; };
            if (s.kind == Symbol::Scalar && std::none_of(g.arguments.begin(), g.arguments.end(), is))
                fail(s.name + " is read in " + where() + " but is not among the program's arguments",
                     "add it to the arguments");
            if (s.kind == Symbol::Size && !contains(g.sizes, s.name)) g.sizes.push_back(s.name);
        }
    }

    void add_node(const DefinitionPtr &d, const Origin &origin = {}) {
        Node n;
        n.origin = origin;
        n.name = d->name;
        n.op = d->op;
        n.type = d->type;
        Type from = accumulator_type(d->value.type());
        n.accumulator = accumulator_type(d->type);
        if (from.bits() > n.accumulator.bits()) n.accumulator = from;
        const Dims declared = d->declared ? dims_of(*d) : Dims{};
        for (auto &v : d->vars) {
            if (v.find('.') != std::string::npos)
                fail(d->name + ": '" + v + "' cannot be the name of an index", "letters, digits and '_'");
            const size_t k = n.domain.size();
            n.domain.push_back({v, k < declared.size() ? declared[k] : Dim{}});
        }
        n.id = g.reserve(n.name, origin);
        int made = 0;
        auto *map = n.as<Map>();
        n.source = hoist_reductions(in_graph.mutate(written_out.mutate(d->value)), n, d->vars, map && map->slice < 0, made);
        // A definition that is one reduction, of the same indices, is that node.
        if (!g.has(n.id)) {
            for (auto &v : indices_used(n.source))
                if (!contains(d->vars, v))
                    fail(n.name + ": index " + v + " is not on the left side",
                         "reduce over it, sum_over(" + v + ", ...), or put it on the left side");
            add(n);
        }
        if (d->declared) check_declaration(*d, declared, g.at(n.id));
        node_of[d.get()] = n.id;
    }

    // `value` from `source`.
    void derive_value(Node &n) {
        if (n.is_argument()) return;
        Expr e = n.source;
        if (auto *c = n.as<Communication>(); c && c->outside.defined()) {
            Expr from = rank_value() + c->from.value;
            e = select(from >= 0 && from < ranks_value(), e, c->outside);
        }
        e = bind_shared(expand_random(g, e, n));
        bool accumulates = n.as<Reduction>() || n.as<Blocks>();
        // A reduction adds up the wide values; widen_float16 would round each addend first.
        e = accumulates && is_float16(e.type()) ? widen_float16(Halide::cast(f32, e)) : widen_float16(e);
        n.value = expand_functions(take_out_scalars(g, e));
    }

    NodeId value_node(const DefinitionPtr &d, ArgumentId argument) {
        if (!d->anonymous && !d->argument && node_of.count(d.get())) return node_of.at(d.get());
        // An anonymous tensor, or an argument's value at entry: a copy of its own.
        auto copy = std::make_shared<Definition>();
        const Origin origin{Role::NewValue, -1, argument};
        Node made;
        made.origin = origin;
        copy->name = g.name_from(made);
        copy->vars = d->indices();
        copy->type = d->element_type();
        copy->value = reference(d, index_exprs(copy->vars));
        copy->defined = true;
        add_node(copy, origin);
        return node_of.at(copy.get());
    }

    void add_argument(const ArgumentRef &a) {
        Argument x;
        x.name = a.name;
        x.access = a.access;
        x.scalar = a.scalar;
        x.type = a.scalar ? a.scalar_type : a.definition->declared_type.get();
        x.has_range = a.range->first != a.range->second;
        if (x.has_range) std::tie(x.low, x.high) = *a.range;
        if (!a.scalar) {
            check_declared(*a.definition, g.program);
            x.dims = dims_of(*a.definition);
            x.layout = a.definition->layout;
            const size_t dimensions = x.dims.size();
            if (x.layout.dims.size() > dimensions)
                fail(a.name + " is declared " + stretto::to_string(x.layout) + " but has " + counted(dimensions, "dimension"),
                     dimensions == 0   ? "replicated, partial(op) or local"
                     : dimensions == 1 ? "sliced(0)"
                                       : "sliced(0) to sliced(" + std::to_string(dimensions - 1) + ")");
            if (a.access != Access::Output) x.node = add_value_at_entry(a, x);
        }
        g.arguments.push_back(x);
    }
    NodeId add_value_at_entry(const ArgumentRef &a, const Argument &x) {
        Node n;
        n.name = a.name;
        n.op = ArgumentValue{ArgumentId(g.arguments.size())};
        n.type = x.type;
        n.accumulator = accumulator_type(x.type);
        for (size_t d = 0; d < x.dims.size(); d++)
            n.domain.push_back({default_index(int(d)), x.dims[d], x.layout.axes_of(d)});
        n.layout = x.layout;
        tensor_names.insert(a.name);
        return node_of[a.definition.get()] = g.add(n).id;
    }

    // All that the results need, in the order in which the user wrote it.
    void collect_results() {
        for (auto &a : arguments) {
            if (a.update && *a.update) {
                check_expression((*a.update)->value, "the update of " + a.name, g.program);
                collect(*a.update);
            }
            if (a.access == Access::Output) {
                if (!a.definition->defined) fail("output " + a.name + " is not defined", a.name + "(...) = ...");
                collect(a.definition);
            }
        }
        std::stable_sort(definitions.begin(), definitions.end(), [](auto &a, auto &b) { return a->ordinal < b->ordinal; });
    }

public:
    Builder(Graph &g, const std::vector<ArgumentRef> &arguments) : g(g), arguments(arguments) {}

    std::map<DefinitionPtr, NodeId> named() const {
        std::map<DefinitionPtr, NodeId> all;
        for (auto &d : definitions) all[d] = node_of.at(d.get());
        for (auto &a : arguments)
            if (!a.scalar) all[a.definition] = node_of.at(a.definition.get());
        return all;
    }

    void build(const std::vector<Requirement> &requirements) {
        number_lets_from_zero();
        for (auto &a : arguments) {
            if (g.find_argument(a.name)) same_name("two arguments are", a.name);
            add_argument(a);
        }
        for (auto &s : g.sizes)
            if (g.find_argument(s)) same_name("an argument and a size are both", s);
        collect_results();
        for (auto &d : definitions) {
            const Argument *a = g.find_argument(d->name);
            if (a && a->scalar) same_name("a tensor and a scalar argument are both", d->name);
            if (contains(g.sizes, d->name)) same_name("a tensor and a size are both", d->name);
            add_node(d);
        }
        for (ArgumentId i = 0; i < int(arguments.size()); i++) {
            auto &a = arguments[size_t(i)];
            if (a.update && *a.update) g.results.push_back({i, value_node(*a.update, i)});
            if (a.access == Access::Output) g.results.push_back({i, node_of.at(a.definition.get())});
        }
        if (g.results.empty()) fail("it has no result", "an Output argument, or update(inout, value)");
        for (auto &n : g.nodes)
            if (!n.is_argument()) check_symbols(n.source, [&] { return definition_text(g, n); });
        for (auto &n : g.nodes) derive_value(n);
        g.tidy();
        infer(g);
        check_results(g);
        for (auto &r : requirements) add(r);
    }

    void add(const Requirement &r) {
        const std::string what = "require(..., \"" + r.text + "\")";
        if (!r.condition.defined())
            fail(what + ": the condition is an Expr without a value", "a comparison, as in beta < 1");
        check_expression(r.condition, what, g.program);
        if (!r.condition.type().is_bool())
            fail(what + ": the condition is a " + type_name(r.condition.type()), "a comparison, as in beta < 1");
        bool reads = has_index(r.condition), draws = false;
        for_each_call(r.condition, [&](const Call *c) { reads |= bool(referenced(Expr(c))), draws |= is_random(c); });
        const std::string legal = "conditions on scalar arguments, sizes and ranks()";
        if (reads) fail(what + " reads a tensor or an index; it is checked before any of them is computed", legal);
        if (draws) fail(what + " uses random(...), a number of each element", legal);
        if (uses_rank(r.condition)) fail(what + " uses rank(): ranks would disagree on whether the call fails", legal);
        check_symbols(r.condition, [&] { return what; });
        g.requirements.push_back({widen_float16(r.condition), r.text});
    }
};

}  // namespace

Program::Program(const std::string &name, const std::vector<ArgumentRef> &arguments,
                 const std::vector<Requirement> &requirements) {
    g.program = name;
    Builder builder(g, arguments);
    builder.build(requirements);
    named = builder.named();
}

void Program::require(const Expr &condition, const std::string &text) {
    static const std::vector<ArgumentRef> none;
    Builder(g, none).add({condition, text});
}

std::string to_string(const Program &p) { return to_string(p.graph()); }
std::ostream &operator<<(std::ostream &o, const Program &p) { return o << to_string(p); }

}  // namespace stretto
