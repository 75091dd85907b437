#include "schedule/partition.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/infer.h"

namespace stretto {

namespace {

// ---- addends

// The tensor of other ranks' from which they compute n's value for each other; -1 if there are several, if another element
// of it is read, or if the value depends on which rank computes it.
NodeId loaded_tensor(const Graph &g, const Node &n) {
    NodeId loaded = -1;
    for (auto &r : reads_of(g, n)) {
        if (g.at(r.node).layout.is_replicated()) continue;
        if (!r.same_element || (loaded >= 0 && loaded != r.node)) return -1;
        loaded = r.node;
    }
    return differs_between_ranks(g, n.value) ? -1 : loaded;
}

size_t times_read(const Node &n, NodeId x) { return reads_of(n, x).size(); }

// Is it as cheap to load what p is computed from as to load p?
bool travels_narrow(const Graph &g, const Node &n, const Node &p) {
    if (!p.as<Map>() || !p.layout.is_partial() || g.is_result(p.id) || times_read(n, p.id) != 1) return false;
    NodeId from = loaded_tensor(g, p);
    return from >= 0 && times_read(p, from) == 1 && g.at(from).type.bits() <= p.type.bits();
}

// ---- shifts

bool can_push(const Graph &g, const Node &n) {
    const int group = n.directives.group;
    return n.is_shift() && group >= 0 && g.at(g.reads(n.id).at(0)).directives.group == group;
}

void push(Graph &g, Node &n) {
    using namespace Halide::Internal;
    auto &c = std::get<Communication>(n.op);
    c.pushes = true;
    if (!c.outside.defined()) return;
    // Who gets nothing gets its fill from the rank that would be its source if ranks were a ring.
    c.from.cyclic = true;
    const std::string rank = rank_value().as<Variable>()->name;
    const Expr receiver = (rank_value() - c.from.value) % ranks_value();
    for (size_t k = 0, count = g.scalars.size(); k < count; k++) {
        const Expr here = plan_scalar(g.scalars[k].type(), int(k)), there = graph_substitute(rank, receiver, g.scalars[k]);
        if (there.same_as(g.scalars[k])) continue;
        const Expr other = plan_scalar(here.type(), int(g.scalars.size()));
        const Expr value = graph_substitute(here.as<Variable>()->name, other, n.value);
        if (value.same_as(n.value)) continue;
        n.value = value;
        g.scalars.push_back(there);
    }
}

// ---- stages

// A stage that nothing joins.
bool is_alone(const Node &n) {
    auto *blocks = n.as<Blocks>();
    // Blocks of another index than the first are not in one piece.
    return n.as<Reduction>() || n.as<Fold>() || (blocks && blocks->split) || (n.is_communication() && n.directives.group < 0);
}

class Partitioner {
    const Graph &g;
    Partition p;
    std::map<std::pair<int, LoopKey>, std::vector<int>> open;  // by Group and loop: stages that others may join, ascending
    std::map<int, NodeIds> groups;
    std::set<int> begun;

    // A value travels within a sweep only to its own element, and not through another rank's memory.
    bool stays(const Node &n, const Read &r) const {
        const Node &x = g.at(r.node);
        return r.same_element && !is_alone(n) && !x.stores_to_ranks() && (!n.loads_from_ranks() || x.layout.is_replicated());
    }

    // In the first stage that may hold n, `first` or later.
    void place(const Node &n, int first) {
        for (auto &r : reads_of(g, n)) {
            auto at = p.stage_of.find(r.node);
            if (at != p.stage_of.end()) first = std::max(first, at->second + (stays(n, r) ? 0 : 1));
        }
        std::vector<int> none, &stages = is_alone(n) ? none : open[{n.directives.group, loop_key(n)}];
        auto at = std::lower_bound(stages.begin(), stages.end(), first);
        if (at == stages.end()) {
            at = stages.insert(at, int(p.stages.size()));
            p.stages.push_back({});
        }
        p.stages[size_t(*at)].push_back(n.id);
        p.stage_of[n.id] = *at;
    }

    void visit(const Node &n) {
        if (n.is_argument() || p.stage_of.count(n.id)) return;
        if (n.directives.group < 0) {
            for (NodeId r : g.reads(n.id)) visit(g.at(r));
            return place(n, 0);
        }
        if (!begun.insert(n.directives.group).second)
            throw Error("internal: Group " + std::to_string(n.directives.group) + " of " + g.program + " needs itself first");
        const NodeIds &members = groups[n.directives.group];
        int first = 0;
        for (NodeId id : members)
            for (NodeId r : g.reads(id)) {
                const Node &x = g.at(r);
                if (x.is_argument() || x.directives.group == n.directives.group) continue;
                visit(x);
                first = std::max(first, p.stage_of.at(r) + 1);
            }
        for (NodeId id : members) place(g.at(id), first);
    }

    // Ranks wait for each other once for the block results of all full reductions that do not depend on each other: exchanges
    // follow each other, after what can be done before and before what needs one.
    void exchange_late() {
        std::vector<std::pair<int, size_t>> order;  // 2 * exchanges before a stage, 1 more of an exchange; and the stage
        for (auto &nodes : p.stages) {
            int before = 0;
            for (NodeId id : nodes)
                for (NodeId r : g.reads(id))
                    if (auto at = p.stage_of.find(r); at != p.stage_of.end() && at->second != int(order.size()))
                        before = std::max(before, (order[size_t(at->second)].first + 1) / 2 * 2);
            bool exchange = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return exchanges_blocks(g, g.at(id)); });
            order.push_back({before + exchange, order.size()});
        }
        std::sort(order.begin(), order.end());
        std::vector<NodeIds> sorted;
        for (auto &[before, stage] : order) {
            const NodeIds &nodes = p.stages[stage];
            auto sums = [&](NodeId id) { return g.at(id).as<Blocks>() != nullptr; };
            const bool apart = std::all_of(nodes.begin(), nodes.end(), sums);  // no sweep to ride in
            for (NodeId id : nodes) {
                if (apart || id == nodes[0]) sorted.push_back({});
                sorted.back().push_back(id);
                p.stage_of[id] = int(sorted.size()) - 1;
            }
        }
        p.stages = std::move(sorted);
    }

public:
    explicit Partitioner(const Graph &g) : g(g) {}
    Partition operator()() {
        for (auto &n : g.nodes)
            if (n.directives.group >= 0) groups[n.directives.group].push_back(n.id);
        for (auto &n : g.nodes) visit(n);
        exchange_late();
        return std::move(p);
    }
};

}  // namespace

Graph settle_transfers(Graph g) {
    for (NodeId id : nodes_where(g, [&](const Node &n) { return can_push(g, n); })) push(g, g.at(id));
    for (NodeId id : nodes_where(g, [](const Node &n) { return n.reduces_over_ranks(); })) {
        NodeId loaded;
        for (;;) {
            Node &n = g.at(id);
            loaded = loaded_tensor(g, n);
            if (loaded < 0 || !travels_narrow(g, n, g.at(loaded))) break;
            const Node &p = g.at(loaded);
            if (!n.directives.vectorize) n.directives.vectorize = p.directives.vectorize;
            inline_read(n, p);
        }
        if (loaded >= 0) continue;
        const Node n = g.at(id);
        Node addend;
        addend.origin = {Role::Addend, id, 0};
        addend.op = Map{};
        addend.type = n.value.type();
        addend.accumulator = accumulator_type(addend.type);
        addend.domain = n.domain;
        addend.source = n.source;
        addend.value = n.value;
        addend.directives.group = n.directives.group;
        NodeId stored = g.add(addend).id;
        Node &m = g.at(id);
        m.value = m.source = access(stored, addend.type, index_exprs(n.vars()));
    }
    g.tidy();
    infer(g);
    return g;
}

Partition partition(const Graph &g) { return Partitioner(g)(); }

}  // namespace stretto
