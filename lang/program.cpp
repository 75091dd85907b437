#include "lang/program.h"
#include <algorithm>
#include <set>
#include "lang/check_expression.h"
#include "lang/expand.h"
#include "lang/infer.h"
#include "lang/print.h"
#include "lang/results.h"

namespace stretto {

using namespace Halide::Internal;

thread_local Recorder *Recorder::open = nullptr;

void ArgumentBase::record(const ArgumentRef &r) {
    check_name(r.name, "argument");
    ref = r;
    if (!ref.range) ref.range = std::make_shared<std::pair<double, double>>(0, 0);
    if (Recorder::open) Recorder::open->arguments.push_back(ref);
}

TensorArgument::TensorArgument(Access access, const std::string &name, LateType type,
                               std::vector<Extent> extents, Layout layout)
    : Tensor(name, type, std::move(extents), std::move(layout)) {
    d->argument = access != Access::Output;
    record({name, access, false, Type(), d,
            access == Access::InOut ? std::make_shared<DefinitionPtr>() : nullptr, nullptr});
}

void update(const InOutTensor &t, const Tensor &value) {
    DefinitionPtr &slot = *ArgumentRef(t).update;
    if (slot)
        throw Error(t.name() + " is updated twice, by " + slot->name + " and by " + value.name() +
                    ".\nLegal: one update");
    slot = value.definition();
}

void require(const Expr &condition, const std::string &text) {
    if (!Recorder::open)
        throw Error(
            "require(...) outside of a generator's algorithm().\nLegal: program.require(condition, text)");
    Recorder::open->requirements.push_back({condition, text});
}

namespace {

template <class F>
class CallMutator : public IRMutator {
    F f;
    using IRMutator::visit;
    Expr visit(const Call *c) override {
        Expr r = f(c, *this);
        return r.defined() ? r : IRMutator::visit(c);
    }

public:
    explicit CallMutator(F f) : f(std::move(f)) {}
};
template <class F>
Expr map_calls(const Expr &e, F f) { return CallMutator<F>(std::move(f)).mutate(e); }

// Builds the graph: definitions are collected from the arguments' updates and outputs, anonymous ones are written out,
// reductions become nodes, layouts are inferred, and machine values derived from what the user wrote.
class Builder {
    Graph &g;
    const std::vector<ArgumentRef> &arguments;
    std::vector<DefinitionPtr> definitions;  // named ones that the results need
    std::set<const Definition *> visited;
    std::map<const Definition *, NodeId> node_of;
    std::map<std::string, const Definition *> by_name;
    int next_stream = 0;

    [[noreturn]] void fail(const std::string &why) const {
        throw Error("In program " + g.program + ": " + why);
    }

    Dims dims_of(const Definition &d) {
        Dims dims;
        for (auto &e : d.extents) {
            if (e.size_name().empty()) {
                if (e.value() < 0)
                    fail(d.name + " has the extent " + std::to_string(e.value()) + ".\nLegal: 0 and above");
                dims.push_back({Dim::Constant, e.value()});
                continue;
            }
            auto it = std::find(g.sizes.begin(), g.sizes.end(), e.size_name());
            if (it == g.sizes.end()) it = g.sizes.insert(g.sizes.end(), e.size_name());
            dims.push_back({Dim::Size, it - g.sizes.begin()});
        }
        return dims;
    }

    // Anonymous tensors are written out where they are read.
    Expr write_out(const Expr &e) {
        return map_calls(e, [this](const Call *c, auto &self) -> Expr {
            DefinitionPtr d = referenced(Expr(c));
            if (!d || !d->anonymous) return Expr();
            std::vector<Expr> idx;
            for (size_t i = 1; i < c->args.size(); i++) idx.push_back(self.mutate(c->args[i]));
            return self.mutate(substitute_indices(d->value, d->vars, idx));
        });
    }

    void collect(const DefinitionPtr &d) {
        if (!visited.insert(d.get()).second) return;
        if (d->declared) check_declared_type(*d, g.program);
        if (!d->anonymous) check_expression(d->value, "the definition of " + d->name, g.program);
        if (!d->defined) {
            if (!d->argument)
                fail(d->name + " is not defined.\nLegal: " + d->name + "(i, ...) = ... or " + d->name +
                     " = all_reduce(...)");
            bool listed =
                std::any_of(arguments.begin(), arguments.end(), [&](auto &a) { return a.definition == d; });
            if (!listed)
                fail(d->name +
                     " is read but is not among the program's arguments.\nLegal: add it to the arguments");
            return;
        }
        if (!d->anonymous) {
            auto [it, fresh] = by_name.insert({d->name, d.get()});
            if (!fresh) fail("two tensors are called " + d->name + ".\nLegal: a name of its own for each");
        }
        map_calls(d->value, [&](const Call *c, auto &) -> Expr {
            if (DefinitionPtr operand = referenced(Expr(c))) collect(operand);
            return Expr();
        });
        if (!d->anonymous) definitions.push_back(d);
    }

    Expr to_accesses(const Expr &e) {
        return map_calls(write_out(e), [this](const Call *c, auto &self) -> Expr {
            DefinitionPtr d = referenced(Expr(c));
            if (!d) return Expr();
            std::vector<Expr> idx;
            for (size_t i = 1; i < c->args.size(); i++) idx.push_back(self.mutate(c->args[i]));
            return access(node_of.at(d.get()), c->type, idx);
        });
    }

    // op_over(...) inside e becomes a node (two for a reduction over all indices), and e reads it.
    Expr hoist_reductions(const Expr &e, const Node &user, bool whole) {
        int made = 0;
        return map_calls(e, [&](const Call *c, auto &) -> Expr {
            if (c->name != "stretto_reduce") return Expr();
            static const char *names[] = {"sum", "prod", "max", "min"};
            ReduceOp op = ReduceOp(*as_const_int(c->args[1]));
            std::string ordinal = made++ ? std::to_string(made) : "";
            Node r;
            r.rvars.clear();
            for (size_t i = 4; i < c->args.size(); i++) r.rvars.push_back(bare_index(c->args[i]));
            r.source = hoist_reductions(c->args[0], user, false);
            Names used = indices_used(r.source), free;
            for (auto &v : r.rvars)
                if (std::find(user.vars.begin(), user.vars.end(), v) != user.vars.end())
                    fail(user.name + ": index " + v +
                         " is reduced and stands on the left side too.\nLegal: another Var");
            for (auto &v : used) {
                if (std::find(r.rvars.begin(), r.rvars.end(), v) != r.rvars.end()) continue;
                if (std::find(user.vars.begin(), user.vars.end(), v) == user.vars.end())
                    fail(user.name + ": index " + v +
                         " is neither reduced nor on the left side.\nLegal: reduce over it too, or put it "
                         "on the left side");
            }
            for (auto &v : user.vars)
                if (std::find(used.begin(), used.end(), v) != used.end()) r.vars.push_back(v);
            bool top = whole && c == e.as<Call>();
            std::string name = top ? user.name : user.name + "." + names[op] + ordinal;
            bool any = *as_const_int(c->args[3]) != 0;
            if (!r.vars.empty()) {  // a contraction
                // Its extents are those of the tensor it defines, if that is declared.
                for (auto &v : r.vars) {
                    size_t d = size_t(std::find(user.vars.begin(), user.vars.end(), v) - user.vars.begin());
                    if (d < user.dims.size()) r.dims.push_back(user.dims[d]);
                }
                if (top && r.vars == user.vars) {
                    r.name = name;
                } else {
                    r.name = user.name + "." + names[op] + ordinal;
                }
                r.op = Reduction{op, any};
                r.type = c->type;
                Expr read = access(g.add(r).id, r.type, index_exprs(r.vars));
                infer_node(g, g.nodes.back().id);
                return read;
            }
            Node b = r, f;
            b.name = (top ? user.name : name) + ".blocks";
            b.op = Blocks{op, int(*as_const_int(c->args[2])), any, -1};
            b.type = accumulator_type(c->type);
            b.vars = {"block"};
            NodeId blocks = g.add(b).id;
            infer_node(g, blocks);
            if (g.at(blocks).layout.is_sliced()) {  // each rank has its own block's result: exchange them
                Node gather = g.communication(b.name + ".ag", AllGather{0}, g.at(blocks));
                blocks = g.add(gather).id;
                infer_node(g, blocks);
            }
            f.name = name;
            f.op = Fold{op};
            f.type = c->type;
            f.rvars = {"block"};
            f.source = access(blocks, b.type, {index("block")});
            NodeId fold = g.add(f).id;
            infer_node(g, fold);
            return access(fold, c->type, {});
        });
    }

    void check_extents(const std::string &name, const Dims &declared, const Dims &defined) const {
        if (declared == defined) return;
        fail(name + " is declared with the extents {" + to_string(g, declared) + "}, and its definition has {" +
             to_string(g, defined) + "}.\nLegal: the same extents in both");
    }

    // Scalars are arguments; a size that no tensor has is a parameter of the program.
    void check_symbols(const Expr &e, const std::string &where) {
        struct Symbols : IRVisitor {
            using IRVisitor::visit;
            std::vector<Symbol> all;
            void visit(const Variable *v) override { all.push_back(symbol_of(Expr(v))); }
        } symbols;
        e.accept(&symbols);
        for (auto &s : symbols.all) {
            auto is = [&](const Argument &a) { return a.scalar && a.name == s.name; };
            if (s.kind == Symbol::Scalar && std::none_of(g.arguments.begin(), g.arguments.end(), is))
                fail(s.name + " is read in " + where +
                     " but is not among the program's arguments.\nLegal: add it to the arguments");
            if (s.kind == Symbol::Size && std::find(g.sizes.begin(), g.sizes.end(), s.name) == g.sizes.end())
                g.sizes.push_back(s.name);
        }
    }

    void add_node(const DefinitionPtr &d) {
        Node n;
        n.name = d->name;
        n.op = d->op;
        n.type = d->type;
        n.vars = d->vars;
        if (d->declared) n.dims = dims_of(*d);
        for (auto &v : n.vars)
            if (v.find('.') != std::string::npos)
                fail(d->name + ": '" + v +
                     "' cannot be the name of an index.\nLegal: letters, digits and '_'");
        n.source = hoist_reductions(to_accesses(d->value), n, n.as<Map>() && n.as<Map>()->slice < 0);
        // A definition that is one reduction, of the same indices, is that node.
        const Call *c = as_access(n.source);
        if (c && g.at(accessed(c)).name == n.name) {
            Node &r = g.at(accessed(c));
            if (!n.dims.empty()) check_extents(n.name, n.dims, r.dims);
            node_of[d.get()] = r.id;
            return;
        }
        for (auto &v : indices_used(n.source))
            if (std::find(n.vars.begin(), n.vars.end(), v) == n.vars.end())
                fail(n.name + ": index " + v + " is not on the left side.\nLegal: reduce over it, sum_over(" +
                     v + ", ...), or put it on the left side");
        Dims declared = n.dims;
        NodeId id = g.add(n).id;
        infer_node(g, id);
        if (!declared.empty()) check_extents(n.name, declared, g.at(id).dims);
        node_of[d.get()] = id;
    }

    // `value` from `source`.
    void derive_value(Node &n) {
        if (n.is_argument()) return;
        std::map<std::string, Dim> extents;
        Names all = n.vars;
        for (size_t i = 0; i < n.vars.size(); i++) extents[n.vars[i]] = n.dims[i];
        for (size_t i = 0; i < n.rvars.size(); i++) extents[n.rvars[i]] = n.rdims[i];
        all.insert(all.end(), n.rvars.begin(), n.rvars.end());
        Expr e = expand_random(g, n.source, all, extents, next_stream);
        bool accumulates = n.as<Reduction>() || n.as<Blocks>();
        // A reduction adds up the wide values; widen_float16 would round each addend first.
        e = accumulates && is_float16(e.type()) ? widen_float16(Halide::cast(f32, e)) : widen_float16(e);
        n.value = take_out_scalars(g, expand_functions(e));
    }

    NodeId value_node(const DefinitionPtr &d, const std::string &argument) {
        if (!d->anonymous && !d->argument && node_of.count(d.get())) return node_of.at(d.get());
        // An anonymous tensor, or an argument's value at entry: a copy with a name.
        auto copy = std::make_shared<Definition>();
        copy->name = argument + ".new";
        for (int k = 0; k < d->dimensions(); k++)
            copy->vars.push_back(d->defined ? d->vars[k] : default_index(int(k)));
        copy->type = d->element_type();
        copy->value = reference(d, index_exprs(copy->vars));
        copy->defined = true;
        add_node(copy);
        return node_of.at(copy.get());
    }

public:
    Builder(Graph &g, const std::vector<ArgumentRef> &arguments) : g(g), arguments(arguments) {}

    std::vector<DefinitionPtr> named() const {
        std::vector<DefinitionPtr> all = definitions;
        for (auto &a : arguments)
            if (!a.scalar) all.push_back(a.definition);
        return all;
    }

    void build(const std::vector<Requirement> &requirements) {
        number_lets_from_zero();
        std::set<std::string> names;
        for (auto &a : arguments) {
            if (!names.insert(a.name).second)
                fail("two arguments are called " + a.name + ".\nLegal: a name of its own for each");
            Argument x;
            x.name = a.name;
            x.access = a.access;
            x.scalar = a.scalar;
            x.type = a.scalar ? a.scalar_type : a.definition->declared_type.get();
            if (a.range->first != a.range->second) {
                x.has_range = true;
                x.low = a.range->first;
                x.high = a.range->second;
            }
            if (!a.scalar) {
                check_declared_type(*a.definition, g.program);
                x.dims = dims_of(*a.definition);
                x.layout = a.definition->layout;
                int d = x.layout.sliced_dimension();
                if (x.layout.is_sliced() && (d < 0 || d >= int(x.dims.size()))) {
                    std::string legal = "replicated, partial(op) or local",
                                last = std::to_string(x.dims.size() - 1);
                    if (x.dims.size() == 1) legal = "sliced(0)";
                    if (x.dims.size() > 1) legal = "sliced(0) to sliced(" + last + ")";
                    fail(a.name + " is declared " + stretto::to_string(x.layout) + " but has " +
                         std::to_string(x.dims.size()) +
                         (x.dims.size() == 1 ? " dimension." : " dimensions.") + "\nLegal: " + legal);
                }
                if (a.access != Access::Output) {
                    Node n;
                    n.name = a.name;
                    n.op = ArgumentValue{ArgumentId(g.arguments.size())};
                    n.type = x.type;
                    n.dims = x.dims;
                    n.layout = x.layout;
                    x.node = g.add(n).id;
                    node_of[a.definition.get()] = x.node;
                    by_name[a.name] = a.definition.get();
                }
            }
            g.arguments.push_back(x);
        }
        for (auto &s : g.sizes)
            if (names.count(s))
                fail("an argument and a size are both called " + s + ".\nLegal: a name of its own for each");
        for (auto &a : arguments) {
            if (a.update && *a.update) {
                check_expression((*a.update)->value, "the update of " + a.name, g.program);
                collect(*a.update);
            }
            if (a.access == Access::Output) {
                if (!a.definition->defined)
                    fail("output " + a.name + " is not defined.\nLegal: " + a.name + "(...) = ...");
                collect(a.definition);
            }
        }
        std::stable_sort(definitions.begin(), definitions.end(),
                         [](auto &a, auto &b) { return a->ordinal < b->ordinal; });
        for (auto &d : definitions) {
            if (names.count(d->name) && g.find_argument(d->name)->scalar)
                fail("a tensor and a scalar argument are both called " + d->name +
                     ".\nLegal: a name of its own for each");
            if (std::find(g.sizes.begin(), g.sizes.end(), d->name) != g.sizes.end())
                fail("a tensor and a size are both called " + d->name +
                     ".\nLegal: a name of its own for each");
            add_node(d);
        }
        for (size_t i = 0; i < arguments.size(); i++) {
            auto &a = arguments[i];
            if (a.update && *a.update) g.results.push_back({ArgumentId(i), value_node(*a.update, a.name)});
            if (a.access == Access::Output)
                g.results.push_back({ArgumentId(i), node_of.at(a.definition.get())});
        }
        if (g.results.empty()) fail("it has no result.\nLegal: an Output argument, or update(inout, value)");
        for (auto &n : g.nodes)
            if (!n.is_argument()) check_symbols(n.source, definition_text(g, n));
        for (auto &n : g.nodes) derive_value(n);
        g.tidy();
        infer(g);
        check_results(g);
        for (auto &r : requirements) add(r);
    }

    void add(const Requirement &r) {
        if (!r.condition.defined())
            fail("require(..., \"" + r.text +
                 "\"): the condition is an Expr without a value.\nLegal: a comparison, as in beta < 1");
        check_expression(r.condition, "require(..., \"" + r.text + "\")", g.program);
        if (!r.condition.type().is_bool())
            fail("require(..., \"" + r.text + "\"): the condition is a " + type_name(r.condition.type()) +
                 ".\nLegal: a comparison, as in beta < 1");
        bool reads = false;
        map_calls(r.condition, [&](const Call *c, auto &) -> Expr {
            reads |= bool(referenced(Expr(c)));
            return Expr();
        });
        if (reads || has_index(r.condition))
            fail("require(..., \"" + r.text +
                 "\") reads a tensor or an index; it is checked before any of them is computed.\n"
                 "Legal: conditions on scalar arguments, sizes and ranks()");
        if (uses_rank(r.condition))
            fail("require(..., \"" + r.text +
                 "\") uses rank(): ranks would disagree on whether the call fails.\n"
                 "Legal: conditions on scalar arguments, sizes and ranks()");
        check_symbols(r.condition, "require(..., \"" + r.text + "\")");
        g.requirements.push_back({expand_functions(widen_float16(r.condition)), r.text});
    }
};

}  // namespace

Program::Program(const std::string &name, const std::vector<ArgumentRef> &arguments)
    : Program(name, arguments, {}) {}

Program::Program(const std::string &name, const std::vector<ArgumentRef> &arguments,
                 const std::vector<Requirement> &requirements) {
    g.program = name;
    try {
        Builder builder(g, arguments);
        builder.build(requirements);
        named = builder.named();
    } catch (const Halide::Error &e) { throw Error("In program " + name + ": " + e.what()); }
}

void Program::require(const Expr &condition, const std::string &text) {
    static const std::vector<ArgumentRef> none;
    Builder(g, none).add({condition, text});
}

std::string to_string(const Program &p) { return to_string(p.graph()); }
std::ostream &operator<<(std::ostream &o, const Program &p) { return o << to_string(p); }

}  // namespace stretto
