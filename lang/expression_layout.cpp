#include "lang/expression_layout.h"
#include "lang/error.h"
#include "lang/print.h"
#include "lang/shared_parts.h"
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;
using Kind = LayoutKind;

namespace {

std::string describe(const Operand &o) {
    switch (o.kind) {
    case Kind::Sliced: return "sliced on " + o.var;
    case Kind::Partial: return to_string(partial(o.op));
    case Kind::Local: return "local";
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

}  // namespace

LayoutKind kind_of(const Layout &l) {
    return l.is_partial()  ? Kind::Partial
           : l.is_local()  ? Kind::Local
           : l.is_sliced() ? Kind::Sliced
                           : Kind::Replicated;
}

std::string made_whole(LayoutKind kind, const std::string &t) {
    switch (kind) {
    case Kind::Partial: return "all_reduce(" + t + ")";
    case Kind::Sliced: return "all_gather(" + t + ")";
    case Kind::Local: return "broadcast(" + t + ", root)";
    default: return "";
    }
}

// ---- messages

void ExpressionLayout::fail(const std::string &why, const std::string &legal) const {
    std::string what = definition_text(g, n);
    if (n.as<Blocks>())  // the user wrote t() = sum_over(...)
        what = g.identities[size_t(n.origin.of)].name + "() = " + reduction_text(g, n);
    throw Error("In program " + g.program + ": cannot define " + what + ".\n  " + why +
                (legal.empty() ? "" : "\nLegal: " + legal));
}

const Call *ExpressionLayout::culprit(const Operand &o) const {
    const Call *found = nullptr;
    for_each_access(o.e, [&](const Call *c) {
        if (!found && kind_of(g.at(accessed(c)).layout) == o.kind) found = c;
    });
    return found;
}

std::string ExpressionLayout::read_name(const Operand &o) const {
    const Call *c = culprit(o);
    return c ? g.at(accessed(c)).name : "";
}

std::string ExpressionLayout::text(const Operand &o) const {
    const Call *c = culprit(o);
    return to_string(g, c ? Expr(c) : o.e) + " is " + describe(o);
}

std::string ExpressionLayout::reduce_first(const Operand &o) const {
    const Call *c = culprit(o);
    if (!c) return "reduce the operand first, by all_reduce or reduce_scatter";
    const Node &t = g.at(accessed(c));
    if (t.origin.role != Role::Inner)
        return "reduce it first: all_reduce(" + t.name + "), or reduce_scatter(" + t.name + ", dim)";
    return "give it a name and reduce that first: total(...) = " + reduction_text(g, t) +
           "; all_reduce(total), or reduce_scatter(total, dim)";
}

std::string ExpressionLayout::applied(const std::string &verb, const Operand &o, const std::string &more) const {
    const std::string t = read_name(o);
    return verb + "(" + (t.empty() ? "the operand" : t) + more + ")";
}

std::string ExpressionLayout::made_whole(const Operand &o) const {
    if (o.is(Kind::Replicated)) return "the operand itself: it is the same on all ranks";
    const std::string t = read_name(o);
    return stretto::made_whole(o.kind, t.empty() ? "the operand" : t);
}

// A pending reduction where `operation` combines it with what it must not be combined with.
void ExpressionLayout::mixed(const std::string &operation, const Operand &a, const Operand &b) const {
    const bool first = a.is(Kind::Partial);
    const Operand &p = first ? a : b, &q = first ? b : a;
    std::string op = reduce_op_name(p.op), why;
    if (q.is(Kind::Partial) && q.op != p.op)
        why = "two different reductions are pending.";
    else if (q.is(Kind::Partial) && p.op == Sum)
        why = "the product of two sums is not the sum of products.";
    else if (q.is(Kind::Sliced))
        why = "a rank holds all of the one and a block of the other.";
    else if (q.is(Kind::Local))
        why = "the second differs between ranks.";
    else if ((p.op == Sum && operation == "sum") || (p.op == Prod && operation == "product"))
        why = "combining them would count the second once a rank.";
    else
        why = "a pending " + op + " does not pass through a " + operation + ".";
    std::string legal = reduce_first(p);
    const bool linear = p.op == Sum && operation != "sum";  // in a replicated factor
    if (linear && (q.is(Kind::Sliced) || (q.is(Kind::Local) && culprit(q)))) legal += ", or " + made_whole(q);
    fail(text(p) + " and " + text(q) + "; " + why, legal);
}

// ---- the layout of each operation

Operand ExpressionLayout::operator()(const Expr &e) {
    auto it = known.find(e.get());
    if (it != known.end()) return it->second;
    Operand o = layout_of(e);
    o.e = e;
    return known[e.get()] = o;
}

// e, which must not be a pending reduction where `what` uses it.
Operand ExpressionLayout::settled(const Expr &e, const std::string &what) {
    Operand o = (*this)(e);
    if (o.is(Kind::Partial)) fail(text(o) + "; " + what + " needs the reduced value.", reduce_first(o));
    return o;
}

// The one that has the layout of both together.
Operand ExpressionLayout::join(const Operand &a, const Operand &b, const std::string &operation) const {
    if (a.is(Kind::Partial) || b.is(Kind::Partial)) mixed(operation, a, b);
    if (a.is(Kind::Replicated)) return b;
    if (b.is(Kind::Replicated)) return a;
    if (a.kind != b.kind) {
        const Operand &slices = a.is(Kind::Sliced) ? a : b, &own = a.is(Kind::Sliced) ? b : a;
        fail(text(a) + " and " + text(b) + "; each rank would mix its own value with its block.",
             made_whole(slices) + (culprit(own) ? ", or " + made_whole(own) : ""));
    }
    if (a.is(Kind::Sliced) && a.var != b.var)
        fail("two indices, " + a.var + " (" + text(a) + ") and " + b.var + " (" + text(b) + "), are sliced over one axis.",
             made_whole(a) + ", or " + made_whole(b));
    return a;
}

Operand ExpressionLayout::joined(const std::vector<Expr> &all, const std::string &what) {
    Operand r;
    for (auto &e : all)
        if (!e.type().is_handle()) r = join(r, settled(e, what), "combination");
    return r;
}

// a + b, a - b: linear, so addends stay addends.
Operand ExpressionLayout::sum(const Expr &ea, const Expr &eb, bool subtract) {
    Operand a = (*this)(ea), b = (*this)(eb);
    const bool pa = a.is(Kind::Partial), pb = b.is(Kind::Partial);
    if (subtract && is_const_zero(ea) && pb) {  // -b
        if (b.op == Prod) fail(text(b) + "; each rank would change the sign of the product.", reduce_first(b));
        if (b.op != Sum && !eb.type().is_float())
            fail(text(b) + "; of an integer the lowest has no negative, and an unsigned one wraps.", reduce_first(b));
        if (b.op == ReduceOp::Max || b.op == ReduceOp::Min) b.op = b.op == ReduceOp::Max ? ReduceOp::Min : ReduceOp::Max;
        return b;
    }
    if (pa && pb && a.op == Sum && b.op == Sum) return a;
    if (pa && a.op == Sum && is_const_zero(eb)) return a;
    if (pb && b.op == Sum && !subtract && is_const_zero(ea)) return b;
    return join(a, b, "sum");
}

Operand ExpressionLayout::product(const Mul *x) {
    Operand a = (*this)(x->a), b = (*this)(x->b);
    const bool pa = a.is(Kind::Partial), pb = b.is(Kind::Partial);
    if (pa && pb && a.op == Prod && b.op == Prod) return a;
    if (pa && a.op == Sum && b.is(Kind::Replicated)) return a;
    if (pb && b.op == Sum && a.is(Kind::Replicated)) return b;
    return join(a, b, "product");
}

Operand ExpressionLayout::quotient(const Div *x) {
    Operand b = settled(x->b, "a divisor"), a = (*this)(x->a);
    if (a.is(Kind::Partial) && a.op == Sum && b.is(Kind::Replicated)) {
        if (x->type.is_float()) return a;
        fail(text(a) + "; integer division rounds each rank's addend.", reduce_first(a));
    }
    return join(a, b, "quotient");
}

// max(a, b) and min(a, b): legal on a partial of the same op, with a replicated value too.
Operand ExpressionLayout::extremum(const Expr &ea, const Expr &eb, ReduceOp op) {
    Operand a = (*this)(ea), b = (*this)(eb);
    const bool pa = a.is(Kind::Partial) && a.op == op, pb = b.is(Kind::Partial) && b.op == op;
    if (pa && (pb || b.is(Kind::Replicated))) return a;
    if (pb && a.is(Kind::Replicated)) return b;
    const char *what = op == ReduceOp::Max ? "max" : "min";
    if (pa || pb) {  // with another reduction, or a value that is not the same everywhere
        settled(pa ? eb : ea, what);
        mixed(what, a, b);
    }
    return joined({ea, eb}, what);
}

Operand ExpressionLayout::selection(const Select *x) {
    Operand c = settled(x->condition, "a condition"), a = (*this)(x->true_value), b = (*this)(x->false_value);
    if (a.is(Kind::Partial) || b.is(Kind::Partial)) {
        const bool first = a.is(Kind::Partial);
        const Operand &p = first ? a : b, &q = first ? b : a;
        if (!c.is(Kind::Replicated))
            fail(text(p) + ", and the condition " + to_string(g, c.e) + " is " + describe(c) +
                     ": ranks would choose differently.",
                 reduce_first(p));
        if (q.is(Kind::Partial) && p.op == q.op) return p;
        if (p.op == Sum && is_const_zero(q.e)) return p;
        fail(text(p) + ", and the other arm: " + text(q) + "; both must be pending alike.",
             "arms that are both " + describe(p) + (p.op == Sum ? ", or 0; or " : "; or ") + reduce_first(p));
    }
    return join(c, join(a, b, "combination"), "combination");
}

Operand ExpressionLayout::conversion(const Cast *x) {
    Operand a = (*this)(x->value);
    if (!a.is(Kind::Partial)) return a;
    const Type &from = x->value.type(), &to = x->type;
    bool legal = a.op == Sum    ? is_linear_cast(from, to)
                 : a.op == Prod ? from == to
                                : preserves_values(from, to);
    if (legal) return a;
    std::string why = " would change values before they are reduced.";
    if (a.op == Sum) why = " would round each rank's addend.";
    if (!from.is_float() && !to.is_float()) why = " is not the same before a reduction that wraps as after it.";
    fail(text(a) + "; a cast from " + type_name(from) + " to " + type_name(to) + why, reduce_first(a));
}

Operand ExpressionLayout::read(const Call *c) {
    const Node &t = g.at(accessed(c));
    const std::vector<Expr> at = indices_of(c);
    if (at.size() != t.dimensions())
        fail(t.name + " has " + counted(t.dimensions(), "dimension") + ", " + std::to_string(at.size()) +
                 (at.size() == 1 ? " index is given." : " indices are given."),
             "");
    Operand r{kind_of(t.layout), t.layout.op()};
    if (int d = t.layout.first_sliced(); d >= 0) {
        r.var = bare_index(at[d]);
        if (r.var.empty())
            fail(t.name + " is " + to_string(t.layout) + "; its index there, " + to_string(g, at[d]) +
                     ", is not a bare index, so a rank may not have the element.",
                 "all_gather(" + t.name + ") first, or a Var alone as index " + std::to_string(d));
    }
    // A lookup in what every rank has is as its index.
    for (auto &i : at) {
        Operand o = settled(i, "an index");
        if (o.is(Kind::Replicated) || (o.kind == r.kind && o.var == r.var && !r.is(Kind::Partial))) continue;
        if (r.is(Kind::Replicated)) {
            r = o;
            continue;
        }
        const bool named = o.is(Kind::Sliced) || culprit(o);
        fail("index " + to_string(g, i) + " of " + t.name + " is " + describe(o) + ", and " + t.name + " is " + describe(r) +
                 ": a rank may not have the element.",
             (named ? made_whole(o) + " as index, or " : "") + stretto::made_whole(r.kind, t.name) + " in place of " + t.name);
    }
    return r;
}

Operand ExpressionLayout::layout_of(const Expr &e) {
    if (e.as<Variable>()) return {differs_between_ranks(g, e) ? Kind::Local : Kind::Replicated};
    if (const Call *c = e.as<Call>()) {
        if (as_access(e)) return read(c);
        const std::string call = to_string(g, e);
        return joined(c->args, call.substr(0, call.find('(')));
    }
    if (const Add *x = e.as<Add>()) return sum(x->a, x->b, false);
    if (const Sub *x = e.as<Sub>()) return sum(x->a, x->b, true);
    if (const Mul *x = e.as<Mul>()) return product(x);
    if (const Div *x = e.as<Div>()) return quotient(x);
    if (const auto *x = e.as<Halide::Internal::Max>()) return extremum(x->a, x->b, ReduceOp::Max);
    if (const auto *x = e.as<Halide::Internal::Min>()) return extremum(x->a, x->b, ReduceOp::Min);
    if (const Select *x = e.as<Select>()) return selection(x);
    if (const Cast *x = e.as<Cast>()) return conversion(x);
    if (const Let *x = e.as<Let>()) {
        kept.push_back(graph_substitute(x->name, x->value, x->body));
        return (*this)(kept.back());
    }
    // Constants, which have no operands, and what needs all of its operands reduced.
    return joined(operands(e), e.as<Mod>() ? "a remainder" : e.as<Reinterpret>() ? "reinterpret"
                                                                                 : "a condition");
}

}  // namespace stretto
