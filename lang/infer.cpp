#include "lang/infer.h"
#include "lang/error.h"
#include "lang/expression_layout.h"
#include "lang/print.h"

namespace stretto {

namespace {

using Kind = LayoutKind;

// The row of each kind of node: what its operand must be, and the layout that it gives.
class Inference : public ExpressionLayout {
public:
    using ExpressionLayout::ExpressionLayout;
    using ExpressionLayout::operator();

    // Extents of the domain, from the bare indices of the reads.
    void find_extents(std::vector<Index> &domain) const {
        if (domain.size() > most_indices)
            fail(n.name + " has " + std::to_string(domain.size()) + " indices, with those that it reduces over.",
                 "at most " + std::to_string(most_indices) + "; a reduction in two steps");
        std::map<std::string, std::pair<Dim, std::string>> known;
        for_each_access(n.source, [&](const Halide::Internal::Call *c) {
            const Node &t = g.at(accessed(c));
            auto idx = indices_of(c);
            for (size_t d = 0; d < idx.size() && d < t.domain.size(); d++) {
                std::string v = bare_index(idx[d]);
                if (v.empty()) continue;
                const Dim &extent = t.domain[d].extent;
                auto [it, fresh] = known.insert({v, {extent, t.name}});
                if (!fresh && it->second.first != extent)
                    fail("index " + v + " ranges over " + to_string(g, it->second.first) + " in " + it->second.second +
                             " and over " + to_string(g, extent) + " in " + t.name + ".",
                         "an index of its own for each, or tensors that are declared with the same extent");
            }
        });
        // The user's tensor, of a reduction inside its definition.
        std::string tensor = n.name;
        for (Origin o = n.origin; o.of >= 0; o = g.identities[size_t(o.of)].origin) tensor = g.identities[size_t(o.of)].name;
        for (auto &i : domain) {
            if (known.count(i.name))
                i.extent = known[i.name].first;
            else if (i.extent.kind == Dim::Unknown && i.reduced)
                fail("nothing that is reduced uses index " + i.name + ", so it has no extent.",
                     "reduce over indices that an operand uses");
            else if (i.extent.kind == Dim::Unknown)
                fail("no operand gives index " + i.name + " an extent.",
                     "declare the tensor with its extents: Tensor " + tensor + "{\"" + tensor + "\", type, {extents}}");
        }
    }

    // The dimension of the result that index v is, -1 if none.
    int dimension(const std::string &v) const {
        for (size_t d = 0; d < n.dimensions(); d++)
            if (n.domain[d].name == v) return int(d);
        return -1;
    }

    Layout of_kind(const Operand &o) const {
        if (o.is(Kind::Partial)) return partial(o.op);
        return o.is(Kind::Local) ? local : replicated;
    }
    Layout reduced(const Operand &o, ReduceOp op) const {
        if (o.is(Kind::Partial) && o.op != op)
            fail(text(o) + "; a " + reduce_op_name(op) + " over it would mix two reductions.", reduce_first(o));
        if (!o.is(Kind::Sliced)) return of_kind(o);
        int d = dimension(o.var);
        return d >= 0 ? sliced(d) : partial(op);
    }
    void check_dimension(int d, const char *what) const {
        int dimensions = int(n.dimensions());
        if (d < 0 || d >= dimensions)
            fail(std::string(what) + " on dimension " + std::to_string(d) + ", but the operand has " +
                     std::to_string(dimensions) + ".",
                 dimensions ? "a dimension from 0 to " + std::to_string(dimensions - 1)
                            : "all_reduce, which needs no dimension");
    }
    void check_kind(const Operand &o, Kind needed, const std::string &who_needs, const std::string &legal) const {
        if (!o.is(needed)) fail(text(o) + "; " + who_needs + " operand.", legal);
    }

    Layout operator()(const Map &m, const Operand &o) const {
        if (m.slice >= 0) {
            if (m.slice >= int(n.dimensions()))
                fail("dimension " + std::to_string(m.slice) + " does not exist.",
                     "0 to " + std::to_string(int(n.dimensions()) - 1));
            if (o.is(Kind::Replicated) || (o.is(Kind::Sliced) && dimension(o.var) == m.slice)) return sliced(m.slice);
            const std::string d = ", " + std::to_string(m.slice);
            fail(text(o) + "; only a replicated value has slices to take.",
                 o.is(Kind::Partial) ? applied("reduce_scatter", o, d) : "slice_of(x" + d + ") of x = " + made_whole(o));
        }
        if (!o.is(Kind::Sliced)) return of_kind(o);
        if (dimension(o.var) >= 0) return sliced(dimension(o.var));
        fail(text(o) + ", and " + o.var + " is not an index of the left side.",
             "reduce over it (sum_over(" + o.var + ", ...)), or put it on the left side");
    }
    Layout operator()(const Reduction &r, const Operand &o) const { return reduced(o, r.op); }
    Layout operator()(const Blocks &b, const Operand &o) const {
        const std::string &split = n.domain[n.dimensions() + size_t(b.split)].name;
        if (o.is(Kind::Sliced) && o.var != split)
            fail("the blocks of this reduction are over " + split + ", but " + text(o) + ".",
                 "blocks over the sliced index, .blocks(" + o.var + "); or " + made_whole(o));
        if (o.is(Kind::Sliced) || (b.slice == 0 && o.is(Kind::Replicated))) return sliced(0);
        return reduced(o, b.op);
    }
    Layout operator()(const Fold &, const Operand &o) const {
        if (o.is(Kind::Sliced)) fail("its block results are sliced on " + o.var + ".", "all_gather them first");
        return of_kind(o);
    }
    Layout operator()(const Communication &c, const Operand &o) const {
        if (c.reduce) {
            const char *verb = !c.to_dim ? "all_reduce" : "reduce_scatter";
            if (!o.is(Kind::Partial)) {
                std::string legal = made_whole(o);
                if (c.to_dim && o.is(Kind::Replicated)) legal = applied("slice_of", o, ", " + std::to_string(*c.to_dim));
                if (o.is(Kind::Local))
                    legal = "an operand that is partial(Sum), partial(Prod), partial(Max) or partial(Min), or " + legal;
                fail(text(o) + "; " + verb + " needs a pending reduction, partial(op).", legal);
            }
            if (!c.to_dim) return replicated;
            check_dimension(*c.to_dim, verb);
            return sliced(*c.to_dim, c.from.axes);
        }
        if (c.from.kind == From::Owner) {
            check_kind(o, Kind::Sliced, "all_gather needs a sliced", made_whole(o));
            check_dimension(c.from.dim, "all_gather");
            return replicated;
        }
        if (c.from.kind == From::Shift) {
            check_kind(o, Kind::Local, "shift needs a local", "an operand that is local");
            return local;
        }
        if (c.from.value < 0) fail("rank " + std::to_string(c.from.value) + " does not exist.", "a root from 0 to ranks() - 1");
        check_kind(o, Kind::Local, "broadcast needs a local", made_whole(o));
        return replicated;
    }
    Layout operator()(const ArgumentValue &, const Operand &) const { return n.layout; }
};

// The axes that slice each index: a dimension of the result, a reduced index of which each rank has its block, the
// dimension in which an all-gather's operand is sliced.
void slice_domain(std::vector<Index> &domain, const Layout &layout, const Op &op, const Operand &operand) {
    for (size_t d = 0; d < domain.size(); d++) {
        Index &i = domain[d];
        i.axes = i.reduced ? Axes{} : layout.axes_of(d);
        if (i.reduced && operand.is(Kind::Sliced) && i.name == operand.var) i.axes = {world_axis};
    }
    if (auto *c = std::get_if<Communication>(&op); c && c->from.kind == From::Owner)
        domain[size_t(c->from.dim)].axes = c->from.axes;
    if (auto *b = std::get_if<Blocks>(&op); b && layout.is_sliced()) domain[1 + size_t(b->split)].axes = layout.axes_of(0);
}

}  // namespace

void infer_node(Graph &g, NodeId id) {
    Node &n = g.at(id);
    if (n.is_argument()) return;
    Inference infer(g, n);
    std::vector<Index> domain = n.domain;
    infer.find_extents(domain);
    const Operand operand = infer(n.source);
    if (auto *c = n.as<Communication>()) {
        // What follows from the operand: its pending reduction, the dimension in which it is sliced.
        if (c->reduce && operand.is(Kind::Partial)) c->reduce = operand.op;
        int d = operand.is(Kind::Sliced) ? infer.dimension(operand.var) : -1;
        if (c->from.kind == From::Owner && d >= 0) c->from.dim = d;
    }
    n.layout = std::visit([&](auto &op) { return infer(op, operand); }, n.op);
    slice_domain(domain, n.layout, n.op, operand);
    n.domain = domain;
}

void infer(Graph &g) {
    for (size_t i = 0; i < g.nodes.size(); i++) infer_node(g, g.nodes[i].id);
}

void check_results(const Graph &g) {
    for (auto &r : g.results) {
        const Argument &a = g.arguments[r.argument];
        const Node &v = g.at(r.node);
        std::string what = a.access == Access::Output ? "output " : "argument ";
        // The value is a tensor of its own, the definition of the output itself, or an unnamed one in update(a, ...).
        bool own = v.origin.role == Role::Own && v.name == a.name, unnamed = v.origin.role == Role::NewValue;
        std::string value = own ? "its definition" : unnamed ? "its new value"
                                                             : v.name;
        std::string t = own || unnamed ? "t" : v.name;
        auto refuse = [&](const std::string &why, const std::string &legal) {
            throw Error("In program " + g.program + ": " + what + a.name + " cannot take the value of " +
                        definition_text(g, v) + ".\n  " + why + "\nLegal: " + legal);
        };
        if (v.type != a.type)
            refuse(a.name + " is " + type_name(a.type) + ", " + value + " is " + type_name(v.type) + ".",
                   "cast<" + cpp_type_name(a.type) + ">(...)");
        if (v.dims() != a.dims)
            refuse(a.name + " has extents {" + to_string(g, a.dims) + "}, " + value + " has {" + to_string(g, v.dims()) + "}.",
                   "a value with extents {" + to_string(g, a.dims) + "}");
        bool into_local = a.layout.is_local() && v.layout.is_replicated();
        if (v.layout == a.layout || into_local) continue;
        const std::string d = ", " + std::to_string(a.layout.first_sliced()), whole = made_whole(kind_of(v.layout), t);
        std::string value_of_layout;  // what has the layout that the argument is declared with; "": none is near
        if (a.layout.is_replicated() || (a.layout.is_local() && !whole.empty()))
            value_of_layout = whole;
        else if (a.layout.is_sliced() && v.layout.is_partial())
            value_of_layout = "reduce_scatter(" + t + d + ")";
        else if (a.layout.is_sliced() && whole.empty())
            value_of_layout = "slice_of(" + t + d + ")";
        else if (a.layout.is_sliced())
            value_of_layout = "slice_of(x" + d + "), x = " + whole;
        std::string legal;
        if (!value_of_layout.empty()) legal = a.name + " = " + value_of_layout + "; or ";
        if (!legal.empty() && own) legal = "with t in place of " + a.name + " on the left: " + legal;
        refuse(a.name + " is " + to_string(a.layout) + ", " + value + " is " + to_string(v.layout) + ".",
               legal + "declare " + a.name + " as " + to_string(v.layout));
    }
}

}  // namespace stretto
