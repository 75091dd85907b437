#include "lower/stages.h"
#include <algorithm>
#include <set>
#include "lang/expand.h"
#include "schedule/partition.h"

namespace stretto {

namespace {

using namespace Halide::Internal;
using plan::From;
using plan::Range;
using plan::StageKind;

StageKind kind_of(const Node &n) {
    if (n.as<Reduction>()) return StageKind::Contract;
    if (n.as<Blocks>()) return StageKind::BlockSum;
    if (n.as<Fold>()) return StageKind::Fold;
    return StageKind::Sweep;
}

Stage empty_stage(const Node &n) {
    Stage s;
    s.kind = kind_of(n);
    s.outputs = int(n.dimensions());
    if (s.kind == StageKind::Contract || s.kind == StageKind::BlockSum) s.order = order_of(n);
    auto *blocks = n.as<Blocks>();
    for (auto &i : n.domain) {
        bool block = blocks && int(s.loops.size()) == s.outputs + blocks->split;
        s.loops.push_back({i.name, i.extent, block ? Range::Block : i.axes.empty() ? Range::Whole
                                                                                   : Range::Slice});
    }
    return s;
}

// A node's expression as part of a body, each shared part once.
class IntoBody : public IRGraphMutator {
    const Graph &g;
    const Node &n;
    Stage &s;
    const std::map<NodeId, Expr> &inside;
    std::map<std::string, std::string> &lets;
    using IRGraphMutator::visit;

    Expr visit(const Variable *v) override {
        Symbol symbol = symbol_of(Expr(v));
        if (symbol.kind == Symbol::PlanScalar) {
            auto &used = s.body.scalars;
            auto at = std::find(used.begin(), used.end(), symbol.number);
            if (at == used.end()) at = used.insert(at, symbol.number);
            return plan_scalar(v->type, int(at - used.begin()));
        }
        if (bound_number(Expr(v)) >= 0) return Expr(v);
        if (symbol.kind == Symbol::Let) return Variable::make(v->type, let_name(v->name));
        if (symbol.kind != Symbol::Index) return Expr(v);
        size_t d = 0;
        while (n.domain.at(d).name != v->name) d++;
        return loop_index(int(d));
    }
    Expr visit(const Let *l) override {
        Expr value = mutate(l->value);
        return Let::make(let_name(l->name), value, mutate(l->body));
    }
    // Numbered within the stage, so that bodies can be compared.
    std::string let_name(const std::string &name) {
        return lets.emplace(name, "let." + std::to_string(lets.size())).first->second;
    }
    Expr visit(const Call *c) override {
        Expr e = IRGraphMutator::visit(c);
        const Call *a = as_access(e);
        if (!a) return e;
        const Node &t = g.at(accessed(a));
        auto own = inside.find(t.id);
        if (own != inside.end()) return own->second;
        return load(access_number(t, indices_of(a)), t.type, indices_of(a));
    }
    int access_number(const Node &t, const std::vector<Expr> &indices) {
        StageAccess a;
        a.read = t.id;
        if (n.reduces_over_ranks()) {
            if (!t.layout.is_replicated()) a.from = From::Each;  // else every rank has it itself
        } else if (n.loads_from_ranks()) {
            auto &from = n.as<Communication>()->from;
            a.from = from.kind == stretto::From::Shift ? From::Shift : From::Rank;
            a.rank = from.value;
            a.cyclic = from.cyclic;
        }
        for (auto &i : indices) a.reach.push_back(loop_number(i));
        for (size_t k = 0; k < s.accesses.size(); k++) {
            StageAccess &known = s.accesses[k];
            if (known.read != a.read || !known.same_ranks(a)) continue;
            for (size_t d = 0; d < a.reach.size(); d++)
                if (known.reach[d] != a.reach[d]) known.reach[d] = any_element;
            return int(k);
        }
        s.accesses.push_back(a);
        return int(s.accesses.size()) - 1;
    }

public:
    IntoBody(const Graph &g, const Node &n, Stage &s, const std::map<NodeId, Expr> &inside,
             std::map<std::string, std::string> &lets)
        : g(g), n(n), s(s), inside(inside), lets(lets) {}
};

void describe(const Graph &g, Stage &s, const std::function<bool(NodeId)> &needed) {
    std::map<NodeId, Expr> inside;
    std::map<std::string, std::string> lets;
    for (NodeId id : s.nodes) {
        const Node &n = g.at(id);
        IntoBody body(g, n, s, inside, lets);
        Binding b;
        b.node = id;
        b.value = body.mutate(n.value);
        b.over = n.reduces_over_ranks() ? Binding::Ranks : s.kind == StageKind::Sweep ? Binding::Nothing
                                                                                      : Binding::Loops;
        if (b.over != Binding::Nothing) {
            b.op = n.reduce_op();
            b.value = Halide::cast(n.accumulator, b.value);
        }
        s.body.bindings.push_back(b);
        if (b.over != Binding::Nothing && b.value.type() != n.type) {
            Expr result = bound(s.body, int(s.body.bindings.size()) - 1);
            s.body.bindings.push_back({id, body.mutate(round_to(n.type, result)), Binding::Nothing, Sum});
        }
        inside[id] = bound(s.body, int(s.body.bindings.size()) - 1);
    }
    for (NodeId id : s.nodes) {
        if (!needed(id)) continue;
        StageAccess a;
        a.written = id;
        if (auto *c = g.at(id).as<Communication>(); c && c->pushes)
            a.from = From::Shift, a.rank = c->from.value, a.cyclic = c->from.cyclic;
        else if (g.at(id).stores_to_ranks())
            a.from = From::Each;
        for (int d = 0; d < s.outputs; d++) a.reach.push_back(d);
        s.body.stored.push_back({bound_number(inside[id]), int(s.accesses.size())});
        s.accesses.push_back(a);
    }
}

Stage in_two_phases(Stage s) {
    for (auto &loop : s.loops) loop.range = Range::AnySlice;
    for (auto &a : s.accesses)
        if (a.written >= 0) a.from = From::Each;
    return s;
}

}  // namespace

std::vector<Stage> make_stages(const Graph &g) {
    std::vector<Stage> stages;
    std::map<NodeId, size_t> stage_of;
    auto add = [&](const std::vector<NodeId> &nodes, bool rides) {
        if (nodes.empty()) return;
        Stage s = empty_stage(g.at(nodes[0]));
        s.rides = rides;
        s.nodes = nodes;
        for (NodeId id : nodes) {
            s.vectorize = std::max(s.vectorize, g.at(id).directives.vectorize);
            stage_of[id] = stages.size();
        }
        stages.push_back(std::move(s));
    };
    for (auto &nodes : partition(g).stages) {
        std::vector<NodeId> sweep, blocks;
        for (NodeId id : nodes) (g.at(id).as<Blocks>() ? blocks : sweep).push_back(id);
        add(sweep, false);
        for (NodeId id : blocks) add({id}, !sweep.empty());
    }
    std::set<NodeId> needed;
    for (auto &r : g.results) needed.insert(r.node);
    for (auto &[id, stage] : stage_of)
        for (NodeId t : g.reads(id)) {
            auto producer = stage_of.find(t);
            if (producer != stage_of.end() && producer->second != stage) needed.insert(t);
        }
    for (auto &s : stages) describe(g, s, [&](NodeId id) { return needed.count(id) > 0; });
    return stages;
}

std::vector<Item> with_choices(const Graph &g, std::vector<Stage> stages) {
    std::vector<Item> items;
    for (auto &s : stages) {
        const Node *n = s.nodes.size() == 1 ? &g.at(s.nodes[0]) : nullptr;
        auto *c = n && n->directives.group < 0 && s.outputs > 0 ? n->as<Communication>() : nullptr;
        const bool all_reduce = c && n->is_all_reduce();
        if (all_reduce && c->algorithm == Algorithm::Auto)
            items.push_back(Choice{s, in_two_phases(s)});
        else
            items.push_back(all_reduce && c->algorithm == Algorithm::TwoPhase ? in_two_phases(s) : s);
    }
    return items;
}

}  // namespace stretto
