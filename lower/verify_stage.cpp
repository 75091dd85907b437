#include "lower/verify_stage.h"
#include <set>
#include "lang/expand.h"

namespace stretto {

namespace {

using namespace Halide::Internal;
using plan::From;
using plan::Range;
using plan::StageKind;

// Names bound inside an expression, by order of appearance: bodies number them anew.
class LetsInOrder : public IRGraphMutator {
    std::map<std::string, std::string> names;

    std::string name(const std::string &old) {
        return names.emplace(old, "let." + std::to_string(names.size())).first->second;
    }

protected:
    using IRGraphMutator::visit;
    Expr visit(const Variable *v) override {
        return symbol_of(Expr(v)).kind == Symbol::Let ? Variable::make(v->type, name(v->name)) : Expr(v);
    }
    Expr visit(const Let *l) override {
        Expr value = mutate(l->value);
        return Let::make(name(l->name), value, mutate(l->body));
    }
};

// A body's expression as one of the graph, for node n.
class OfGraph : public LetsInOrder {
    const Stage &s;
    const Node &n;
    using LetsInOrder::visit;

    Expr visit(const Variable *v) override {
        if (int b = bound_number(Expr(v)); b >= 0)
            return access(s.body.bindings.at(size_t(b)).node, v->type, index_exprs(n.vars()));
        if (int loop = loop_number(Expr(v)); loop >= 0) return index(n.domain.at(size_t(loop)).name);
        Symbol symbol = symbol_of(Expr(v));
        if (symbol.kind == Symbol::PlanScalar) return plan_scalar(v->type, s.body.scalars.at(size_t(symbol.number)));
        return LetsInOrder::visit(v);
    }
    Expr visit(const Call *c) override {
        Expr e = IRGraphMutator::visit(c);
        const Call *a = as_access(e);
        return a ? access(s.accesses.at(size_t(accessed(a))).read, a->type, indices_of(a)) : e;
    }

public:
    OfGraph(const Stage &s, const Node &n) : s(s), n(n) {}
};

std::set<int> bindings_in(const Expr &e) {
    struct Names : IRGraphVisitor {
        using IRGraphVisitor::visit;
        std::set<int> found;
        void visit(const Variable *v) override {
            if (int k = bound_number(Expr(v)); k >= 0) found.insert(k);
        }
    } names;
    e.accept(&names);
    return names.found;
}

class StageRules {
    const Lowering &l;
    const Graph &g;
    const Stage &s;
    const int number;

    [[noreturn]] void fail(const char *rule, const std::string &why) const {
        throw Fault(rule, "stage " + std::to_string(number) + ", " + why);
    }
    const std::string &name(NodeId id) const { return g.at(id).name; }
    const Buffer &buffer(const StageAccess &a) const { return l.buffers[size_t(a.buffer)]; }

    // ---- body

    // Is it the result of the reduction before it, rounded?
    bool rounds(size_t i) const { return i > 0 && s.body.bindings[i - 1].node == s.body.bindings[i].node; }

    void binding(size_t i) const {
        const Binding &b = s.body.bindings[i];
        const Node &n = g.at(b.node);
        if (s.nodes.empty()) {  // a copy
            const Call *c = as_access(b.value);
            if (b.over != Binding::Nothing || !c || s.accesses.at(size_t(accessed(c))).read != b.node)
                fail("body", "the copy of " + n.name + " is something else");
            return;
        }
        if (rounds(i)) {
            Expr rounded = round_to(n.type, bound(s.body, int(i) - 1));
            if (b.over != Binding::Nothing || !graph_equal(LetsInOrder().mutate(b.value), LetsInOrder().mutate(rounded)))
                fail("body", n.name + " is rounded otherwise");
            return;
        }
        const bool over_ranks = n.reduces_over_ranks(), over_loops = !n.rvars().empty();
        if (b.over != (over_ranks ? Binding::Ranks : over_loops ? Binding::Loops
                                                                : Binding::Nothing))
            fail("body", n.name + " is reduced over something else");
        Expr value = n.value;
        if (b.over != Binding::Nothing) {
            if (b.op != n.reduce_op()) fail("body", n.name + " has another reduction");
            if (over_loops && s.kind != StageKind::Fold && s.order != order_of(n))
                fail("body", n.name + " is reduced in another order");
            value = Halide::cast(n.accumulator, value);
        }
        if (b.value.type() != value.type() || !graph_equal(OfGraph(s, n).mutate(b.value), LetsInOrder().mutate(value)))
            fail("body", n.name + " is computed otherwise");
    }
    bool depends_on_ranks(const Expr &e) const {
        for (int k : bindings_in(e)) {
            const Binding &b = s.body.bindings[size_t(k)];
            if (b.over == Binding::Ranks || depends_on_ranks(b.value)) return true;
        }
        return false;
    }
    // Bindings are in order.
    void order(size_t i) const {
        const Binding &b = s.body.bindings[i];
        for (int k : bindings_in(b.value))
            if (k >= int(i)) fail("order", name(b.node) + " reads what is computed after it");
        if (b.over == Binding::Ranks && depends_on_ranks(b.value))
            fail("order", name(b.node) + " is a sum over ranks of another that this sweep computes");
    }
    // A read of binding b is as its access has it.
    void load(const Binding &b, const Call *c) const {
        const Node &n = g.at(b.node);
        const size_t k = size_t(accessed(c));
        if (k >= s.accesses.size() || s.accesses[k].read < 0)
            fail("region", n.name + " reads access " + std::to_string(k) + ", which is no read");
        const StageAccess &a = s.accesses[k];
        StageAccess want;  // from whom
        if (b.over == Binding::Ranks) {
            want.from = g.at(a.read).layout.is_replicated() ? From::Own : From::Each;
        } else if (!s.nodes.empty() && n.loads_from_ranks()) {
            auto &from = n.as<Communication>()->from;
            want.from = from.kind == stretto::From::Shift ? From::Shift : From::Rank;
            want.rank = from.value;
            want.cyclic = from.cyclic;
        }
        if (!a.same_ranks(want) && !(a.stores_to_ranks() && want.from == From::Own))
            fail("region", n.name + " reads " + name(a.read) + " of other ranks than its access says");
        auto at = indices_of(c);
        for (size_t d = 0; d < at.size(); d++)
            if (a.reach.size() != at.size() || (a.reach[d] != any_element && a.reach[d] != loop_number(at[d])))
                fail("region", n.name + " reads other elements of " + name(a.read) + " than its access says");
    }
    void stores() const {
        std::set<int> stored;
        for (auto &st : s.body.stored) {
            const StageAccess &a = s.accesses.at(size_t(st.access));
            const size_t next = size_t(st.binding) + 1;
            if (!stored.insert(st.access).second || a.written != s.body.bindings.at(size_t(st.binding)).node ||
                (next < s.body.bindings.size() && rounds(next)))  // not yet rounded
                fail("body", "another value than " + (a.written < 0 ? "none" : name(a.written)) + " is stored");
        }
        for (size_t k = 0; k < s.accesses.size(); k++)
            if (s.accesses[k].written >= 0 && !stored.count(int(k)))
                fail("body", name(s.accesses[k].written) + " is not stored");
    }

    // ---- accesses

    void read(const StageAccess &a) const {
        const Node &t = g.at(a.read);
        const int d = t.layout.first_sliced();
        if (d < 0) return;
        const int at = a.reach.at(size_t(d));
        if ((a.from != From::Own && !a.stores_to_ranks()) || at < 0 || !at_own_slice(s, s.loops.at(size_t(at))) ||
            s.loops[size_t(at)].extent != t.domain[size_t(d)].extent)
            fail("slice", t.name + " is sliced, and is read elsewhere than at the own slice");
    }
    void write(const StageAccess &a) const {
        const Buffer &b = buffer(a);
        const Node &n = g.at(a.written);
        if (b.argument >= 0 && g.arguments[size_t(b.argument)].access == Access::Input)
            fail("input", n.name + " is stored to the input " + b.name);
        Dims outputs;
        int cut = -1;
        bool any = false;
        for (int d = 0; d < s.outputs; d++) {
            const Loop &loop = s.loops[size_t(d)];
            outputs.push_back(loop.extent);
            if (loop.range == Range::Slice) cut = d;
            any |= loop.range == Range::AnySlice;
        }
        if (!is_own_element(s, a)) fail("region", n.name + " is stored elsewhere than it is computed");
        const bool all = a.from == From::Each, one = a.from == From::Shift;
        auto *c = n.as<Communication>();
        if (one != (c && c->pushes && !s.nodes.empty()) || (one && (a.rank != c->from.value || a.cyclic != c->from.cyclic)))
            fail("owner", n.name + " goes to another rank than its access says");
        if (all && cut < 0 && !any && s.outputs > 0)
            fail("owner", n.name + " goes to every rank, and every rank computes all of it");
        if (a.from == From::Rank || (one && (cut >= 0 || any)) || b.dims != outputs || b.type != n.type || (any && !all) ||
            b.sliced != (all ? -1 : cut))
            fail("shape", n.name + " is stored to " + b.name + ", which is placed otherwise");
        if (a.read >= 0 && (s.kind != StageKind::Sweep || one))
            fail("race", name(a.read) + " is updated in place by what is no sweep, or by another rank");
    }
    void pair(const StageAccess &a, const StageAccess &b) const {
        if (a.buffer != b.buffer || (a.written < 0 && b.written < 0)) return;
        const std::string &of = buffer(a).name;
        if (a.written >= 0 && b.written >= 0) fail("version", "two values are stored to " + of);
        const StageAccess &reads = a.written < 0 ? a : b, &writes = a.written < 0 ? b : a;
        if (reads.from == From::Own && s.kind == StageKind::Sweep && is_own_element(s, reads))
            fail("in place", name(writes.written) + " is computed from " + of + ", and its access says otherwise");
        fail("race", name(reads.read) + " in " + of + " is read while " + name(writes.written) + " is stored there");
    }

    // Do these block sums go along with the sweep? Of what it stores they read the same element, and nobody else is at it.
    bool ride_in(const Stage &sweep) const {
        if (sweep.kind != StageKind::Sweep || s.kind != StageKind::BlockSum) return false;
        if (s.loops.size() != sweep.loops.size() + 1 || s.loops[1].range != Range::Block) return false;
        for (size_t d = 0; d < sweep.loops.size(); d++) {
            const Loop &loop = sweep.loops[d];
            if (loop.extent != s.loops[d + 1].extent || loop.range != (d ? Range::Whole : s.loops[0].range)) return false;
        }
        for (auto &a : s.accesses)
            for (auto &of_sweep : sweep.accesses)
                for (size_t d = 0; a.buffer == of_sweep.buffer && of_sweep.written >= 0 && d < a.reach.size(); d++)
                    if (a.reach[d] != int(d) + 1) return false;
        return true;
    }

public:
    StageRules(const Lowering &l, const Stage &s, int number) : l(l), g(l.graph), s(s), number(number) {}

    void check(const Stage *before) const {
        std::set<NodeId> bound;
        for (auto &b : s.body.bindings)
            if (!s.nodes.empty()) bound.insert(b.node);
        if (bound != std::set<NodeId>(s.nodes.begin(), s.nodes.end())) fail("once", "it has other bindings than nodes");
        if (s.rides && !(before && ride_in(*before))) fail("rides", "it does not go along with the one before it");
        std::set<size_t> read_by_body;
        for (size_t i = 0; i < s.body.bindings.size(); i++) {
            const Binding &b = s.body.bindings[i];
            order(i);
            for_each_access(b.value, [&](const Call *c) {
                load(b, c);
                read_by_body.insert(size_t(accessed(c)));
            });
            binding(i);
        }
        for (size_t k = 0; k < s.accesses.size(); k++) {
            const StageAccess &a = s.accesses[k];
            if (a.buffer < 0 || a.buffer >= int(l.buffers.size())) fail("stored", "an access has no buffer");
            if ((a.read >= 0) != (read_by_body.count(k) > 0))
                fail(a.written >= 0 ? "in place" : "region",
                     "nothing reads " + buffer(a).name + ", and its access says otherwise");
            if (a.read >= 0) read(a);
            if (a.written >= 0) write(a);
            for (size_t j = 0; j < k; j++) pair(s.accesses[j], a);
        }
        stores();
    }
};

}  // namespace

void verify_stage(const Lowering &l, const Stage &s, const Stage *before, int number) {
    StageRules(l, s, number).check(before);
}

}  // namespace stretto
