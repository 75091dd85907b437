#include "lang/infer.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/print.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

// The layout of an expression: a slice is named by its index variable.
struct ExprLayout {
    AxisLayout::Kind kind = AxisLayout::Replicated;
    ReduceOp op = Sum;
    std::string var;
    bool is(AxisLayout::Kind k) const {
        return kind == k;
    }
};

std::string describe(const ExprLayout &l) {
    switch (l.kind) {
    case AxisLayout::Sliced: return "sliced on " + l.var;
    case AxisLayout::Partial: return std::string("partial(") + reduce_op_name(l.op) + ")";
    case AxisLayout::Local: return "local";
    case AxisLayout::Rooted: return "rooted";
    default: return "replicated";
    }
}

bool preserves_values(const Type &from, const Type &to) {
    return from == to || (to.can_represent(from) && (from.is_float() || !to.is_float() || from.bits() < to.bits()));
}

// A cast is linear where it does not round: to a wider float, or modulo a power of two between integers.
bool is_linear_cast(const Type &from, const Type &to) {
    if (from.is_float()) return to.is_float() && to.bits() >= from.bits() && !(from != to && to.bits() == from.bits());
    return !to.is_float() && !to.is_bool() && to.bits() <= from.bits();
}

class Inference {
    const Graph &g;
    const Node &n;

    [[noreturn]] void fail(const std::string &why, const std::string &legal) const {
        std::string what = definition_text(g, n);
        if (n.as<Blocks>())  // the user wrote t() = sum_over(...)
            what = n.name.substr(0, n.name.rfind(".blocks")) + "() = " + what.substr(what.find("block of ") + 9);
        throw Error("In program " + g.program + ": cannot define " + what + ".\n  " + why +
                    (legal.empty() ? "" : "\nLegal: " + legal));
    }

    // The first access in e with this layout, as code, and its tensor.
    const Call *culprit(const Expr &e, AxisLayout::Kind kind) const {
        const Call *found = nullptr;
        for_each_access(e, [&](const Call *c) {
            if (!found && g.at(accessed(c)).layout.is(kind)) found = c;
        });
        return found;
    }
    std::string operand_text(const Expr &e, const ExprLayout &l) const {
        const Call *c = culprit(e, l.kind);
        return (c ? to_string(g, Expr(c)) : to_string(g, e)) + " is " + describe(l);
    }
    std::string reduce_first(const Expr &e) const {
        const Call *c = culprit(e, AxisLayout::Partial);
        if (!c) return "reduce the operand first, by all_reduce or reduce_scatter";
        const Node &t = g.at(accessed(c));
        if (t.name.find('.') == std::string::npos)
            return "reduce it first: all_reduce(" + t.name + "), or reduce_scatter(" + t.name + ", dim)";
        std::string value = definition_text(g, t);  // of a reduction inside an expression
        return "give it a name and reduce that first: total(...)" + value.substr(value.find(" = ")) +
               "; all_reduce(total), or reduce_scatter(total, dim)";
    }
    // verb(t), verb(t, root), ...: of the tensor in e that has this layout.
    std::string applied(const std::string &verb, const Expr &e, AxisLayout::Kind kind, const std::string &rest = "") const {
        const Call *c = culprit(e, kind);
        return verb + "(" + (c ? g.at(accessed(c)).name : "the operand") + rest + ")";
    }

    // A pending reduction where `operation` combines it with what it must not be combined with.
    [[noreturn]] void mixed(const std::string &operation, const Expr &ea, const ExprLayout &a, const Expr &eb,
                            const ExprLayout &b) const {
        bool first = a.is(AxisLayout::Partial);
        const ExprLayout &p = first ? a : b, &q = first ? b : a;
        const Expr &ep = first ? ea : eb, &eq = first ? eb : ea;
        std::string op = reduce_op_name(p.op), why;
        if (q.is(AxisLayout::Partial) && q.op != p.op)
            why = "two different reductions are pending.";
        else if (q.is(AxisLayout::Partial) && p.op == Sum)
            why = "the product of two sums is not the sum of products.";
        else if (q.is(AxisLayout::Sliced))
            why = "a rank holds all of the one and a block of the other.";
        else if (q.is(AxisLayout::Local))
            why = "the second differs between ranks.";
        else if ((p.op == Sum && operation == "sum") || (p.op == Prod && operation == "product"))
            why = "combining them would count the second once a rank.";
        else
            why = "a pending " + op + " does not pass through a " + operation + ".";
        std::string legal = reduce_first(ep);
        if (p.op == Sum && operation != "sum") {  // linear in a replicated factor
            if (q.is(AxisLayout::Sliced)) legal += ", or " + applied("all_gather", eq, q.kind);
            if (q.is(AxisLayout::Local) && culprit(eq, q.kind)) legal += ", or " + applied("broadcast", eq, q.kind, ", root");
        }
        fail(operand_text(ep, p) + " and " + operand_text(eq, q) + "; " + why, legal);
    }

    // e must not be a pending reduction where `what` uses it.
    ExprLayout settled(const Expr &e, const std::string &what) const {
        ExprLayout l = (*this)(e);
        if (l.is(AxisLayout::Partial))
            fail(operand_text(e, l) + "; " + what + " needs the reduced value.", reduce_first(e));
        return l;
    }

    ExprLayout join(const Expr &ea, const ExprLayout &a, const Expr &eb, const ExprLayout &b,
                    const std::string &operation = "combination") const {
        if (a.is(AxisLayout::Partial) || b.is(AxisLayout::Partial)) mixed(operation, ea, a, eb, b);
        if (a.is(AxisLayout::Replicated)) return b;
        if (b.is(AxisLayout::Replicated)) return a;
        if (a.kind != b.kind) {
            const Expr &slices = a.is(AxisLayout::Sliced) ? ea : eb, &own = a.is(AxisLayout::Sliced) ? eb : ea;
            std::string legal = applied("all_gather", slices, AxisLayout::Sliced);
            if (culprit(own, AxisLayout::Local)) legal += ", or " + applied("broadcast", own, AxisLayout::Local, ", root");
            fail(operand_text(ea, a) + " and " + operand_text(eb, b) + "; each rank would mix its own value with its block.",
                 legal);
        }
        if (a.is(AxisLayout::Sliced) && a.var != b.var)
            fail("two indices, " + a.var + " (" + operand_text(ea, a) + ") and " + b.var + " (" + operand_text(eb, b) +
                     "), are sliced over one axis.",
                 applied("all_gather", ea, AxisLayout::Sliced) + ", or " + applied("all_gather", eb, AxisLayout::Sliced));
        return a;
    }
    ExprLayout joined(const Expr &a, const Expr &b, const std::string &what) const {
        return join(a, settled(a, what), b, settled(b, what));
    }

    // a + b, a - b: linear, so addends stay addends.
    template <class T>
    ExprLayout sum(const T *x, bool subtract) const {
        ExprLayout a = (*this)(x->a), b = (*this)(x->b);
        bool pa = a.is(AxisLayout::Partial), pb = b.is(AxisLayout::Partial);
        if (subtract && is_const_zero(x->a) && pb) {  // -b
            if (b.op == Prod)
                fail(operand_text(x->b, b) + "; each rank would change the sign of the product.", reduce_first(x->b));
            if (b.op == Max || b.op == Min) b.op = b.op == Max ? Min : Max;
            return b;
        }
        if (pa && pb && a.op == Sum && b.op == Sum) return a;
        if (pa && a.op == Sum && is_const_zero(x->b)) return a;
        if (pb && b.op == Sum && !subtract && is_const_zero(x->a)) return b;
        return join(x->a, a, x->b, b, "sum");
    }

    ExprLayout product(const Mul *x) const {
        ExprLayout a = (*this)(x->a), b = (*this)(x->b);
        bool pa = a.is(AxisLayout::Partial), pb = b.is(AxisLayout::Partial);
        if (pa && pb && a.op == Prod && b.op == Prod) return a;
        if (pa && a.op == Sum && b.is(AxisLayout::Replicated)) return a;
        if (pb && b.op == Sum && a.is(AxisLayout::Replicated)) return b;
        return join(x->a, a, x->b, b, "product");
    }

    ExprLayout quotient(const Div *x) const {
        ExprLayout b = settled(x->b, "a divisor"), a = (*this)(x->a);
        if (a.is(AxisLayout::Partial) && a.op == Sum && b.is(AxisLayout::Replicated)) {
            if (x->type.is_float()) return a;
            fail(operand_text(x->a, a) + "; integer division rounds each rank's addend.", reduce_first(x->a));
        }
        return join(x->a, a, x->b, b, "quotient");
    }

    // max(a, b) and min(a, b): legal on a partial of the same op, with a replicated value too.
    ExprLayout extremum(const Expr &ea, const Expr &eb, ReduceOp op) const {
        ExprLayout a = (*this)(ea), b = (*this)(eb);
        bool pa = a.is(AxisLayout::Partial) && a.op == op, pb = b.is(AxisLayout::Partial) && b.op == op;
        if (pa && (pb || b.is(AxisLayout::Replicated))) return a;
        if (pb && a.is(AxisLayout::Replicated)) return b;
        const char *what = op == Max ? "max" : "min";
        if (pa || pb) {  // with a value that is not the same everywhere, or another reduction
            if ((pa ? b : a).is(AxisLayout::Partial)) settled(pa ? eb : ea, what);
            mixed(what, ea, a, eb, b);
        }
        return join(ea, settled(ea, what), eb, settled(eb, what));
    }

    ExprLayout selection(const Select *x) const {
        ExprLayout c = settled(x->condition, "a condition"), a = (*this)(x->true_value), b = (*this)(x->false_value);
        bool pa = a.is(AxisLayout::Partial), pb = b.is(AxisLayout::Partial);
        if (pa || pb) {
            const Expr &arm = pa ? x->true_value : x->false_value, &other = pa ? x->false_value : x->true_value;
            const ExprLayout &p = pa ? a : b, &q = pa ? b : a;
            if (!c.is(AxisLayout::Replicated))
                fail(operand_text(arm, p) + ", and the condition " + to_string(g, x->condition) + " is " + describe(c) +
                         ": ranks would choose differently.",
                     reduce_first(arm));
            if (q.is(AxisLayout::Partial) && p.op == q.op) return p;
            if (p.op == Sum && is_const_zero(other)) return p;
            std::string legal = "arms that are both " + describe(p);
            fail(operand_text(arm, p) + ", and the other arm: " + operand_text(other, q) + "; both must be pending alike.",
                 legal + (p.op == Sum ? ", or 0; or " : "; or ") + reduce_first(arm));
        }
        ExprLayout arms = join(x->true_value, a, x->false_value, b);
        return join(x->condition, c, arms.kind == a.kind ? x->true_value : x->false_value, arms);
    }

    ExprLayout conversion(const Cast *x) const {
        ExprLayout a = (*this)(x->value);
        if (!a.is(AxisLayout::Partial)) return a;
        const Type &from = x->value.type(), &to = x->type;
        bool legal = a.op == Sum    ? is_linear_cast(from, to)
                     : a.op == Prod ? from == to
                                    : preserves_values(from, to);
        if (legal) return a;
        std::string why = " would change values before they are reduced.";
        if (a.op == Sum) why = " would round each rank's addend.";
        if (!from.is_float() && !to.is_float()) why = " is not the same before a reduction that wraps as after it.";
        fail(operand_text(x->value, a) + "; a cast from " + type_name(from) + " to " + type_name(to) + why,
             reduce_first(x->value));
    }

    ExprLayout read(const Call *c) const {
        const Node &t = g.at(accessed(c));
        auto idx = indices_of(c);
        if (idx.size() != t.dims.size())
            fail(t.name + " has " + std::to_string(t.dims.size()) + " dimension" + (t.dims.size() == 1 ? "" : "s") + ", " +
                     std::to_string(idx.size()) + (idx.size() == 1 ? " index is given." : " indices are given."),
                 "");
        for (auto &i : idx) {
            ExprLayout l = settled(i, "an index");
            if (l.is(AxisLayout::Replicated) || t.layout.is_local()) continue;
            std::string legal;
            if (l.is(AxisLayout::Sliced)) legal = applied("all_gather", i, l.kind) + ", or ";
            if (l.is(AxisLayout::Local) && culprit(i, l.kind)) legal = applied("broadcast", i, l.kind, ", root") + ", or ";
            fail("index " + to_string(g, i) + " of " + t.name + " is " + describe(l) + ": it differs between ranks.",
                 legal + "an index that is the same on all ranks, or a local tensor in place of " + t.name);
        }
        ExprLayout r{t.layout.kind(), t.layout.op(), ""};
        int d = t.layout.sliced_dimension();
        if (d >= 0) {
            r.var = bare_index(idx[d]);
            if (r.var.empty())
                fail(t.name + " is " + to_string(t.layout) + "; its index there, " + to_string(g, idx[d]) +
                         ", is not a bare index, so a rank may not have the element.",
                     "all_gather(" + t.name + ") first, or a Var alone as index " + std::to_string(d));
        }
        return r;
    }

    ExprLayout call(const Call *c) const {
        ExprLayout r;
        Expr previous;
        for (auto &a : c->args) {
            if (!a.type().is_handle()) {
                ExprLayout l = settled(a, to_string(g, Expr(c)).substr(0, to_string(g, Expr(c)).find('(')));
                r = previous.defined() ? join(previous, r, a, l) : l;
                if (!previous.defined() || l.kind == r.kind) previous = a;
            }
        }
        return r;
    }

public:
    Inference(const Graph &g, const Node &n) : g(g), n(n) {
    }

    ExprLayout operator()(const Expr &e) const {
        if (const Variable *v = e.as<Variable>()) {
            Symbol s = symbol_of(Expr(v));
            bool differs = s.kind == Symbol::Rank || (s.kind == Symbol::PlanScalar && uses_rank(g.scalars[s.number]));
            return {differs ? AxisLayout::Local : AxisLayout::Replicated, Sum, ""};
        }
        if (const Call *c = e.as<Call>()) return as_access(e) ? read(c) : call(c);
        if (const Add *x = e.as<Add>()) return sum(x, false);
        if (const Sub *x = e.as<Sub>()) return sum(x, true);
        if (const Mul *x = e.as<Mul>()) return product(x);
        if (const Div *x = e.as<Div>()) return quotient(x);
        if (const Halide::Internal::Max *x = e.as<Halide::Internal::Max>()) return extremum(x->a, x->b, ReduceOp::Max);
        if (const Halide::Internal::Min *x = e.as<Halide::Internal::Min>()) return extremum(x->a, x->b, ReduceOp::Min);
        if (const Select *x = e.as<Select>()) return selection(x);
        if (const Cast *x = e.as<Cast>()) return conversion(x);
        if (const Reinterpret *x = e.as<Reinterpret>()) return settled(x->value, "reinterpret");
        if (const Not *x = e.as<Not>()) return settled(x->a, "a condition");
        if (const Let *x = e.as<Let>()) return (*this)(Halide::Internal::substitute(x->name, x->value, x->body));
        if (const Mod *x = e.as<Mod>()) return joined(x->a, x->b, "a remainder");
        if (const LT *x = e.as<LT>()) return joined(x->a, x->b, "a condition");
        if (const LE *x = e.as<LE>()) return joined(x->a, x->b, "a condition");
        if (const GT *x = e.as<GT>()) return joined(x->a, x->b, "a condition");
        if (const GE *x = e.as<GE>()) return joined(x->a, x->b, "a condition");
        if (const EQ *x = e.as<EQ>()) return joined(x->a, x->b, "a condition");
        if (const NE *x = e.as<NE>()) return joined(x->a, x->b, "a condition");
        if (const And *x = e.as<And>()) return joined(x->a, x->b, "a condition");
        if (const Or *x = e.as<Or>()) return joined(x->a, x->b, "a condition");
        return {};
    }

    // Extents of the indices in the order of `names`, from the bare indices of the reads.
    Dims extents(const Names &names, const Dims &declared) const {
        std::map<std::string, std::pair<Dim, std::string>> known;
        for_each_access(n.source, [&](const Call *c) {
            const Node &t = g.at(accessed(c));
            auto idx = indices_of(c);
            for (size_t d = 0; d < idx.size() && d < t.dims.size(); d++) {
                std::string v = bare_index(idx[d]);
                if (v.empty()) continue;
                auto [it, fresh] = known.insert({v, {t.dims[d], t.name}});
                if (!fresh && it->second.first != t.dims[d])
                    fail("index " + v + " ranges over " + to_string(g, it->second.first) + " in " + it->second.second +
                             " and over " + to_string(g, t.dims[d]) + " in " + t.name + ".",
                         "an index of its own for each, or tensors that are declared with the same extent");
            }
        });
        Dims dims;
        const std::string tensor = n.name.substr(0, n.name.find('.'));  // the user's, of one that was hoisted
        for (size_t i = 0; i < names.size(); i++) {
            if (known.count(names[i]))
                dims.push_back(known[names[i]].first);
            else if (i < declared.size())
                dims.push_back(declared[i]);
            else if (names == n.rvars)
                fail("nothing that is reduced uses index " + names[i] + ", so it has no extent.",
                     "reduce over indices that an operand uses");
            else
                fail("no operand gives index " + names[i] + " an extent.",
                     "declare the tensor with its extents: Tensor " + tensor + "{\"" + tensor + "\", type, {extents}}");
        }
        return dims;
    }

    Layout reduced(const ExprLayout &l, ReduceOp op) const {
        auto position = [&](const Names &v) { return int(std::find(v.begin(), v.end(), l.var) - v.begin()); };
        if (l.is(AxisLayout::Partial) && l.op != op)
            fail(operand_text(n.source, l) + "; a " + reduce_op_name(op) + " over it would mix two reductions.",
                 reduce_first(n.source));
        if (l.is(AxisLayout::Sliced)) {
            int d = position(n.vars);
            return d < int(n.vars.size()) ? sliced(d) : partial(op);
        }
        return of_kind(l);
    }
    Layout of_kind(const ExprLayout &l) const {
        if (l.is(AxisLayout::Partial)) return partial(l.op);
        return l.is(AxisLayout::Local) ? local : replicated;
    }

    Layout operator()(const Map &m, const ExprLayout &l) const {
        if (m.slice >= 0) {
            if (m.slice >= int(n.vars.size()))
                fail("dimension " + std::to_string(m.slice) + " does not exist.",
                     "0 to " + std::to_string(int(n.vars.size()) - 1));
            if (l.is(AxisLayout::Replicated) || (l.is(AxisLayout::Sliced) && l.var == n.vars[m.slice])) return sliced(m.slice);
            std::string d = ", " + std::to_string(m.slice), of = "slice_of(x" + d + ") of x = ", legal;
            if (l.is(AxisLayout::Partial)) legal = applied("reduce_scatter", n.source, l.kind, d);
            if (l.is(AxisLayout::Sliced)) legal = of + applied("all_gather", n.source, l.kind);
            if (l.is(AxisLayout::Local)) legal = of + applied("broadcast", n.source, l.kind, ", root");
            fail(operand_text(n.source, l) + "; only a replicated value has slices to take.", legal);
        }
        if (!l.is(AxisLayout::Sliced)) return of_kind(l);
        for (size_t d = 0; d < n.vars.size(); d++)
            if (n.vars[d] == l.var) return sliced(int(d));
        fail(operand_text(n.source, l) + ", and " + l.var + " is not an index of the left side.",
             "reduce over it (sum_over(" + l.var + ", ...)), or put it on the left side");
    }
    Layout operator()(const Reduction &r, const ExprLayout &l) const {
        return reduced(l, r.op);
    }
    Layout operator()(const Blocks &b, const ExprLayout &l) const {
        if (l.is(AxisLayout::Sliced) && l.var != n.rvars[b.split])
            fail("the blocks of this reduction are over " + n.rvars[b.split] + ", but " + operand_text(n.source, l) + ".",
                 "blocks over the sliced index, .blocks(" + l.var + "); or " +
                     applied("all_gather", n.source, l.kind));
        if (l.is(AxisLayout::Partial)) return reduced(l, b.op);
        if (l.is(AxisLayout::Sliced) || (b.slice == 0 && l.is(AxisLayout::Replicated))) return sliced(0);
        return of_kind(l);
    }
    Layout operator()(const Fold &, const ExprLayout &l) const {
        if (l.is(AxisLayout::Sliced)) fail("its block results are " + describe(l) + ".", "all_gather them first");
        return of_kind(l);
    }
    // What makes the whole value, the same on every rank, of an operand with layout l.
    std::string made_whole(const ExprLayout &l) const {
        switch (l.kind) {
        case AxisLayout::Partial: return applied("all_reduce", n.source, l.kind);
        case AxisLayout::Sliced: return applied("all_gather", n.source, l.kind);
        case AxisLayout::Local: return applied("broadcast", n.source, l.kind, ", root");
        default: return "the operand itself: it is the same on all ranks";
        }
    }
    Layout pending(const char *what, const ExprLayout &l, const Layout &result) const {
        if (l.is(AxisLayout::Partial)) return result;
        std::string legal = made_whole(l);
        auto *scatter = n.as<ReduceScatter>();
        if (scatter && l.is(AxisLayout::Replicated))
            legal = applied("slice_of", n.source, l.kind, ", " + std::to_string(scatter->dim));
        if (l.is(AxisLayout::Local))
            legal = "an operand that is partial(Sum), partial(Prod), partial(Max) or partial(Min), or " + legal;
        fail(operand_text(n.source, l) + "; " + what + " needs a pending reduction, partial(op).", legal);
    }
    void check_dimension(int d, const char *what) const {
        if (d < 0 || d >= int(n.vars.size()))
            fail(std::string(what) + " on dimension " + std::to_string(d) + ", but the operand has " +
                     std::to_string(n.vars.size()) + ".",
                 n.vars.empty() ? "" : "a dimension from 0 to " + std::to_string(int(n.vars.size()) - 1));
    }
    Layout operator()(const AllReduce &, const ExprLayout &l) const {
        return pending("all_reduce", l, replicated);
    }
    Layout operator()(const ReduceScatter &r, const ExprLayout &l) const {
        pending("reduce_scatter", l, replicated);
        check_dimension(r.dim, "reduce_scatter");
        return sliced(r.dim);
    }
    Layout operator()(const AllGather &a, const ExprLayout &l) const {
        if (!l.is(AxisLayout::Sliced))
            fail(operand_text(n.source, l) + "; all_gather needs a sliced operand.", made_whole(l));
        check_dimension(a.dim, "all_gather");
        return replicated;
    }
    Layout operator()(const Broadcast &b, const ExprLayout &l) const {
        if (b.root < 0) fail("rank " + std::to_string(b.root) + " does not exist.", "a root from 0 to ranks() - 1");
        if (!l.is(AxisLayout::Local))
            fail(operand_text(n.source, l) + "; broadcast needs a local operand.", made_whole(l));
        return replicated;
    }
    Layout operator()(const ArgumentValue &, const ExprLayout &) const {
        return n.layout;
    }

    const Names &vars() const {
        return n.vars;
    }
};

}  // namespace

void infer_node(Graph &g, NodeId id) {
    Node &n = g.at(id);
    if (n.is_argument()) return;
    Inference infer(g, n);
    Dims dims = n.dims, rdims = n.rdims;
    if (n.as<Blocks>())
        dims = {Dim{Dim::Ranks, 0}};
    else
        dims = infer.extents(n.vars, n.dims);
    rdims = infer.extents(n.rvars, n.rdims);
    ExprLayout l = infer(n.source);
    if (auto *a = n.as<AllGather>(); a && l.is(AxisLayout::Sliced)) {
        // The dimension follows the operand's: it is the one that l.var is on the left side.
        auto it = std::find(n.vars.begin(), n.vars.end(), l.var);
        if (it != n.vars.end()) a->dim = int(it - n.vars.begin());
    }
    Layout layout = std::visit([&](auto &op) { return infer(op, l); }, n.op);
    if (auto *a = n.as<AllReduce>()) a->op = l.op;
    if (auto *r = n.as<ReduceScatter>()) r->op = l.op;
    n.dims = dims;
    n.rdims = rdims;
    n.layout = layout;
}

void infer(Graph &g) {
    for (size_t i = 0; i < g.nodes.size(); i++) infer_node(g, g.nodes[i].id);
}

}  // namespace stretto
