#include "lang/infer.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/print.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

// The layout of an expression: a slice is named by its index variable.
struct ExprLayout {
    enum Kind { Replicated,
                Sliced,
                Partial,
                Local } kind = Replicated;
    ReduceOp op = Sum;
    std::string var;
    bool is(Kind k) const {
        return kind == k;
    }
};

ExprLayout::Kind kind_of(const Layout &l) {
    return l.is_partial()  ? ExprLayout::Partial
           : l.is_local()  ? ExprLayout::Local
           : l.is_sliced() ? ExprLayout::Sliced
                           : ExprLayout::Replicated;
}

std::string describe(const ExprLayout &l) {
    switch (l.kind) {
    case ExprLayout::Sliced: return "sliced on " + l.var;
    case ExprLayout::Partial: return std::string("partial(") + reduce_op_name(l.op) + ")";
    case ExprLayout::Local: return "local";
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
    mutable std::map<const IRNode *, ExprLayout> known;  // of each part, however often it is used
    mutable std::vector<Expr> kept;                      // that `known` points to

    [[noreturn]] void fail(const std::string &why, const std::string &legal) const {
        std::string what = definition_text(g, n);
        if (n.as<Blocks>())  // the user wrote t() = sum_over(...)
            what = g.identities[size_t(n.origin.of)].name + "() = " + reduction_text(g, n);
        throw Error("In program " + g.program + ": cannot define " + what + ".\n  " + why +
                    (legal.empty() ? "" : "\nLegal: " + legal));
    }

    // The first access in e with this layout, as code, and its tensor.
    const Call *culprit(const Expr &e, ExprLayout::Kind kind) const {
        const Call *found = nullptr;
        for_each_access(e, [&](const Call *c) {
            if (!found && kind_of(g.at(accessed(c)).layout) == kind) found = c;
        });
        return found;
    }
    std::string operand_text(const Expr &e, const ExprLayout &l) const {
        const Call *c = culprit(e, l.kind);
        return (c ? to_string(g, Expr(c)) : to_string(g, e)) + " is " + describe(l);
    }
    std::string reduce_first(const Expr &e) const {
        const Call *c = culprit(e, ExprLayout::Partial);
        if (!c) return "reduce the operand first, by all_reduce or reduce_scatter";
        const Node &t = g.at(accessed(c));
        if (t.origin.role != Role::Inner)
            return "reduce it first: all_reduce(" + t.name + "), or reduce_scatter(" + t.name + ", dim)";
        return "give it a name and reduce that first: total(...) = " + reduction_text(g, t) +
               "; all_reduce(total), or reduce_scatter(total, dim)";
    }
    // verb(t), verb(t, root), ...: of the tensor in e that has this layout.
    std::string applied(const std::string &verb, const Expr &e, ExprLayout::Kind kind, const std::string &rest = "") const {
        const Call *c = culprit(e, kind);
        return verb + "(" + (c ? g.at(accessed(c)).name : "the operand") + rest + ")";
    }

    std::string made_whole(const ExprLayout &l, const std::string &t) const {
        switch (l.kind) {
        case ExprLayout::Partial: return "all_reduce(" + t + ")";
        case ExprLayout::Sliced: return "all_gather(" + t + ")";
        case ExprLayout::Local: return "broadcast(" + t + ", root)";
        default: return "the operand itself: it is the same on all ranks";
        }
    }

    // A pending reduction where `operation` combines it with what it must not be combined with.
    [[noreturn]] void mixed(const std::string &operation, const Expr &ea, const ExprLayout &a, const Expr &eb,
                            const ExprLayout &b) const {
        bool first = a.is(ExprLayout::Partial);
        const ExprLayout &p = first ? a : b, &q = first ? b : a;
        const Expr &ep = first ? ea : eb, &eq = first ? eb : ea;
        std::string op = reduce_op_name(p.op), why;
        if (q.is(ExprLayout::Partial) && q.op != p.op)
            why = "two different reductions are pending.";
        else if (q.is(ExprLayout::Partial) && p.op == Sum)
            why = "the product of two sums is not the sum of products.";
        else if (q.is(ExprLayout::Sliced))
            why = "a rank holds all of the one and a block of the other.";
        else if (q.is(ExprLayout::Local))
            why = "the second differs between ranks.";
        else if ((p.op == Sum && operation == "sum") || (p.op == Prod && operation == "product"))
            why = "combining them would count the second once a rank.";
        else
            why = "a pending " + op + " does not pass through a " + operation + ".";
        std::string legal = reduce_first(ep);
        if (p.op == Sum && operation != "sum") {  // linear in a replicated factor
            if (q.is(ExprLayout::Sliced)) legal += ", or " + applied("all_gather", eq, q.kind);
            if (q.is(ExprLayout::Local) && culprit(eq, q.kind)) legal += ", or " + applied("broadcast", eq, q.kind, ", root");
        }
        fail(operand_text(ep, p) + " and " + operand_text(eq, q) + "; " + why, legal);
    }

    // e must not be a pending reduction where `what` uses it.
    ExprLayout settled(const Expr &e, const std::string &what) const {
        ExprLayout l = (*this)(e);
        if (l.is(ExprLayout::Partial))
            fail(operand_text(e, l) + "; " + what + " needs the reduced value.", reduce_first(e));
        return l;
    }

    ExprLayout join(const Expr &ea, const ExprLayout &a, const Expr &eb, const ExprLayout &b,
                    const std::string &operation = "combination") const {
        if (a.is(ExprLayout::Partial) || b.is(ExprLayout::Partial)) mixed(operation, ea, a, eb, b);
        if (a.is(ExprLayout::Replicated)) return b;
        if (b.is(ExprLayout::Replicated)) return a;
        if (a.kind != b.kind) {
            const Expr &slices = a.is(ExprLayout::Sliced) ? ea : eb, &own = a.is(ExprLayout::Sliced) ? eb : ea;
            std::string legal = applied("all_gather", slices, ExprLayout::Sliced);
            if (culprit(own, ExprLayout::Local)) legal += ", or " + applied("broadcast", own, ExprLayout::Local, ", root");
            fail(operand_text(ea, a) + " and " + operand_text(eb, b) + "; each rank would mix its own value with its block.",
                 legal);
        }
        if (a.is(ExprLayout::Sliced) && a.var != b.var)
            fail("two indices, " + a.var + " (" + operand_text(ea, a) + ") and " + b.var + " (" + operand_text(eb, b) +
                     "), are sliced over one axis.",
                 applied("all_gather", ea, ExprLayout::Sliced) + ", or " + applied("all_gather", eb, ExprLayout::Sliced));
        return a;
    }
    ExprLayout joined(const Expr &a, const Expr &b, const std::string &what) const {
        return join(a, settled(a, what), b, settled(b, what));
    }

    // a + b, a - b: linear, so addends stay addends.
    template <class T>
    ExprLayout sum(const T *x, bool subtract) const {
        ExprLayout a = (*this)(x->a), b = (*this)(x->b);
        bool pa = a.is(ExprLayout::Partial), pb = b.is(ExprLayout::Partial);
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
        bool pa = a.is(ExprLayout::Partial), pb = b.is(ExprLayout::Partial);
        if (pa && pb && a.op == Prod && b.op == Prod) return a;
        if (pa && a.op == Sum && b.is(ExprLayout::Replicated)) return a;
        if (pb && b.op == Sum && a.is(ExprLayout::Replicated)) return b;
        return join(x->a, a, x->b, b, "product");
    }

    ExprLayout quotient(const Div *x) const {
        ExprLayout b = settled(x->b, "a divisor"), a = (*this)(x->a);
        if (a.is(ExprLayout::Partial) && a.op == Sum && b.is(ExprLayout::Replicated)) {
            if (x->type.is_float()) return a;
            fail(operand_text(x->a, a) + "; integer division rounds each rank's addend.", reduce_first(x->a));
        }
        return join(x->a, a, x->b, b, "quotient");
    }

    // max(a, b) and min(a, b): legal on a partial of the same op, with a replicated value too.
    ExprLayout extremum(const Expr &ea, const Expr &eb, ReduceOp op) const {
        ExprLayout a = (*this)(ea), b = (*this)(eb);
        bool pa = a.is(ExprLayout::Partial) && a.op == op, pb = b.is(ExprLayout::Partial) && b.op == op;
        if (pa && (pb || b.is(ExprLayout::Replicated))) return a;
        if (pb && a.is(ExprLayout::Replicated)) return b;
        const char *what = op == Max ? "max" : "min";
        if (pa || pb) {  // with a value that is not the same everywhere, or another reduction
            if ((pa ? b : a).is(ExprLayout::Partial)) settled(pa ? eb : ea, what);
            mixed(what, ea, a, eb, b);
        }
        return join(ea, settled(ea, what), eb, settled(eb, what));
    }

    ExprLayout selection(const Select *x) const {
        ExprLayout c = settled(x->condition, "a condition"), a = (*this)(x->true_value), b = (*this)(x->false_value);
        bool pa = a.is(ExprLayout::Partial), pb = b.is(ExprLayout::Partial);
        if (pa || pb) {
            const Expr &arm = pa ? x->true_value : x->false_value, &other = pa ? x->false_value : x->true_value;
            const ExprLayout &p = pa ? a : b, &q = pa ? b : a;
            if (!c.is(ExprLayout::Replicated))
                fail(operand_text(arm, p) + ", and the condition " + to_string(g, x->condition) + " is " + describe(c) +
                         ": ranks would choose differently.",
                     reduce_first(arm));
            if (q.is(ExprLayout::Partial) && p.op == q.op) return p;
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
        if (!a.is(ExprLayout::Partial)) return a;
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
        if (idx.size() != t.dimensions())
            fail(t.name + " has " + std::to_string(t.dimensions()) + " dimension" + (t.dimensions() == 1 ? "" : "s") + ", " +
                     std::to_string(idx.size()) + (idx.size() == 1 ? " index is given." : " indices are given."),
                 "");
        ExprLayout r{kind_of(t.layout), t.layout.op(), ""};
        int d = t.layout.first_sliced();
        if (d >= 0) {
            r.var = bare_index(idx[d]);
            if (r.var.empty())
                fail(t.name + " is " + to_string(t.layout) + "; its index there, " + to_string(g, idx[d]) +
                         ", is not a bare index, so a rank may not have the element.",
                     "all_gather(" + t.name + ") first, or a Var alone as index " + std::to_string(d));
        }
        // A lookup in what every rank has is as its index.
        for (auto &i : idx) {
            ExprLayout l = settled(i, "an index");
            if (l.is(ExprLayout::Replicated) || (l.kind == r.kind && l.var == r.var && !r.is(ExprLayout::Partial))) continue;
            if (r.is(ExprLayout::Replicated)) {
                r = l;
                continue;
            }
            std::string legal;
            if (l.is(ExprLayout::Sliced)) legal = applied("all_gather", i, l.kind) + " as index";
            if (l.is(ExprLayout::Local) && culprit(i, l.kind)) legal = applied("broadcast", i, l.kind, ", root") + " as index";
            std::string whole = made_whole(r, t.name);
            fail("index " + to_string(g, i) + " of " + t.name + " is " + describe(l) + ", and " + t.name + " is " +
                     describe(r) +
                     ": a rank may not have the element.",
                 legal + (legal.empty() ? "" : ", or ") + whole + " in place of " + t.name);
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
        auto it = known.find(e.get());
        return it != known.end() ? it->second : known[e.get()] = layout_of(e);
    }

private:
    ExprLayout layout_of(const Expr &e) const {
        if (const Variable *v = e.as<Variable>()) {
            Symbol s = symbol_of(Expr(v));
            bool differs = s.kind == Symbol::Rank || (s.kind == Symbol::PlanScalar && uses_rank(g.scalars[s.number]));
            return {differs ? ExprLayout::Local : ExprLayout::Replicated, Sum, ""};
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
        if (const Let *x = e.as<Let>()) {
            kept.push_back(graph_substitute(x->name, x->value, x->body));
            return (*this)(kept.back());
        }
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

public:
    // Extents of the domain, from the bare indices of the reads.
    void find_extents(std::vector<Index> &domain) const {
        std::map<std::string, std::pair<Dim, std::string>> known;
        for_each_access(n.source, [&](const Call *c) {
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
    std::string rvar(size_t k) const {
        return n.domain[n.dimensions() + k].name;
    }

    Layout reduced(const ExprLayout &l, ReduceOp op) const {
        if (l.is(ExprLayout::Partial) && l.op != op)
            fail(operand_text(n.source, l) + "; a " + reduce_op_name(op) + " over it would mix two reductions.",
                 reduce_first(n.source));
        if (!l.is(ExprLayout::Sliced)) return of_kind(l);
        int d = dimension(l.var);
        return d >= 0 ? sliced(d) : partial(op);
    }
    Layout of_kind(const ExprLayout &l) const {
        if (l.is(ExprLayout::Partial)) return partial(l.op);
        return l.is(ExprLayout::Local) ? local : replicated;
    }

    Layout operator()(const Map &m, const ExprLayout &l) const {
        if (m.slice >= 0) {
            if (m.slice >= int(n.dimensions()))
                fail("dimension " + std::to_string(m.slice) + " does not exist.",
                     "0 to " + std::to_string(int(n.dimensions()) - 1));
            if (l.is(ExprLayout::Replicated) || (l.is(ExprLayout::Sliced) && dimension(l.var) == m.slice))
                return sliced(m.slice);
            std::string d = ", " + std::to_string(m.slice), of = "slice_of(x" + d + ") of x = ", legal;
            if (l.is(ExprLayout::Partial)) legal = applied("reduce_scatter", n.source, l.kind, d);
            if (l.is(ExprLayout::Sliced)) legal = of + applied("all_gather", n.source, l.kind);
            if (l.is(ExprLayout::Local)) legal = of + applied("broadcast", n.source, l.kind, ", root");
            fail(operand_text(n.source, l) + "; only a replicated value has slices to take.", legal);
        }
        if (!l.is(ExprLayout::Sliced)) return of_kind(l);
        if (dimension(l.var) >= 0) return sliced(dimension(l.var));
        fail(operand_text(n.source, l) + ", and " + l.var + " is not an index of the left side.",
             "reduce over it (sum_over(" + l.var + ", ...)), or put it on the left side");
    }
    Layout operator()(const Reduction &r, const ExprLayout &l) const {
        return reduced(l, r.op);
    }
    Layout operator()(const Blocks &b, const ExprLayout &l) const {
        if (l.is(ExprLayout::Sliced) && l.var != rvar(size_t(b.split)))
            fail("the blocks of this reduction are over " + rvar(size_t(b.split)) + ", but " + operand_text(n.source, l) + ".",
                 "blocks over the sliced index, .blocks(" + l.var + "); or " +
                     applied("all_gather", n.source, l.kind));
        if (l.is(ExprLayout::Partial)) return reduced(l, b.op);
        if (l.is(ExprLayout::Sliced) || (b.slice == 0 && l.is(ExprLayout::Replicated))) return sliced(0);
        return of_kind(l);
    }
    Layout operator()(const Fold &, const ExprLayout &l) const {
        if (l.is(ExprLayout::Sliced)) fail("its block results are " + describe(l) + ".", "all_gather them first");
        return of_kind(l);
    }
    // What makes the whole value, the same on every rank, of an operand with layout l.
    std::string made_whole(const ExprLayout &l) const {
        const Call *c = culprit(n.source, l.kind);
        return made_whole(l, c ? g.at(accessed(c)).name : "the operand");
    }
    void check_dimension(int d, const char *what) const {
        int dimensions = int(n.dimensions());
        if (d < 0 || d >= dimensions)
            fail(std::string(what) + " on dimension " + std::to_string(d) + ", but the operand has " +
                     std::to_string(dimensions) + ".",
                 dimensions ? "a dimension from 0 to " + std::to_string(dimensions - 1) : "");
    }
    // The row of each communication: what its operand must be, and what it gives.
    Layout operator()(const Communication &c, const ExprLayout &l) const {
        if (c.reduce) {
            const char *verb = !c.to_dim ? "all_reduce" : "reduce_scatter";
            if (!l.is(ExprLayout::Partial)) {
                std::string legal = made_whole(l);
                if (c.to_dim && l.is(ExprLayout::Replicated))
                    legal = applied("slice_of", n.source, l.kind, ", " + std::to_string(*c.to_dim));
                if (l.is(ExprLayout::Local))
                    legal = "an operand that is partial(Sum), partial(Prod), partial(Max) or partial(Min), or " + legal;
                fail(operand_text(n.source, l) + "; " + verb + " needs a pending reduction, partial(op).", legal);
            }
            if (!c.to_dim) return replicated;
            check_dimension(*c.to_dim, verb);
            return sliced(*c.to_dim, c.from.axes);
        }
        if (c.from.kind == From::Owner) {
            if (!l.is(ExprLayout::Sliced))
                fail(operand_text(n.source, l) + "; all_gather needs a sliced operand.", made_whole(l));
            check_dimension(c.from.dim, "all_gather");
            return replicated;
        }
        if (c.from.kind == From::Shift) {
            if (!l.is(ExprLayout::Local)) fail(operand_text(n.source, l) + "; shift needs a local operand.",
                                               "an operand that is local");
            return local;
        }
        if (c.from.value < 0) fail("rank " + std::to_string(c.from.value) + " does not exist.", "a root from 0 to ranks() - 1");
        if (!l.is(ExprLayout::Local))
            fail(operand_text(n.source, l) + "; broadcast needs a local operand.", made_whole(l));
        return replicated;
    }
    Layout operator()(const ArgumentValue &, const ExprLayout &) const {
        return n.layout;
    }
};

// The axes that slice each index: a dimension of the result, a reduced index of which each rank has its block, the
// dimension in which an all-gather's operand is sliced.
void slice_domain(std::vector<Index> &domain, const Layout &layout, const Op &op, const ExprLayout &l) {
    for (size_t d = 0; d < domain.size(); d++) {
        Index &i = domain[d];
        i.axes = i.reduced ? Axes{} : layout.axes_of(d);
        if (i.reduced && l.is(ExprLayout::Sliced) && i.name == l.var) i.axes = {world_axis};
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
    ExprLayout l = infer(n.source);
    if (auto *c = n.as<Communication>()) {
        // What follows from the operand: its pending reduction, the dimension in which it is sliced.
        if (c->reduce && l.is(ExprLayout::Partial)) c->reduce = l.op;
        int d = l.is(ExprLayout::Sliced) ? infer.dimension(l.var) : -1;
        if (c->from.kind == From::Owner && d >= 0) c->from.dim = d;
    }
    Layout layout = std::visit([&](auto &op) { return infer(op, l); }, n.op);
    slice_domain(domain, layout, n.op, l);
    n.domain = domain;
    n.layout = layout;
}

void infer(Graph &g) {
    for (size_t i = 0; i < g.nodes.size(); i++) infer_node(g, g.nodes[i].id);
}

}  // namespace stretto
