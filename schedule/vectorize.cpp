#include "schedule/vectorize.h"
#include <algorithm>
#include "schedule/partition.h"

namespace stretto {

namespace {

const int most_lanes = 64;  // of one-byte elements in the widest registers there are

std::string why_no_kernel(const Node &t) {
    if (t.is_argument()) return t.name + " is an argument: no kernel computes it.";
    if (t.is_communication() && !t.reduces_over_ranks())
        return t.name + " is " + kind_text(t) + ": a copy, which has no kernel of its own.";
    if (t.as<Blocks>() || !t.dimensions())
        return t.name + " has no dimension" + (t.as<Map>() ? "." : "; the accumulators of a full reduction are fixed.");
    return "";
}

// The stages that compute each node: an addend that is computed where it is loaded is part of those that load it.
class StagesOf {
    Graph settled;
    Partition p;
    Links links;  // of the graph as it is scheduled

public:
    explicit StagesOf(const Graph &g) : settled(settle_addends(g)), p(partition(settled)), links(g) {}
    std::set<int> operator()(NodeId id) const {
        auto at = p.stage_of.find(id);
        if (at != p.stage_of.end()) return {at->second};
        std::set<int> stages;
        for (NodeId r : links.readers[size_t(id)])
            for (int s : (*this)(r)) stages.insert(s);
        return stages;
    }
};

// Another node that asks for other lanes than `lanes` of a stage that computes `id`; -1 if none does.
NodeId disagrees(const Graph &g, const StagesOf &stages_of, NodeId id, int lanes) {
    const std::set<int> stages = stages_of(id);
    for (auto &n : g.nodes) {
        if (n.id == id || !n.directives.vectorize || n.directives.vectorize == lanes) continue;
        if (n.directives.group >= 0 && n.directives.group == g.at(id).directives.group) return n.id;
        for (int s : stages_of(n.id))
            if (stages.count(s)) return n.id;
    }
    return -1;
}

}  // namespace

std::string lanes_text(const Node &a, const Node &b) {
    return a.name + ", with " + std::to_string(a.directives.vectorize) + " lanes, and " + b.name + ", with " +
           std::to_string(b.directives.vectorize) + ", would share a stage, which has one number of lanes.";
}

Graph apply(const Graph &before, const Vectorize &v) {
    std::string why = why_no_kernel(before.at(v.tensor));
    if (!why.empty()) refuse(why);
    if (v.lanes < 1 || v.lanes > most_lanes || (v.lanes & (v.lanes - 1)))
        refuse(std::to_string(v.lanes) + " lanes: not a power of two from 1 to " + std::to_string(most_lanes) + ".");
    Graph g = before;
    g.at(v.tensor).directives.vectorize = v.lanes;
    return settle(std::move(g));
}

std::vector<Vectorize> Vectorize::moves(const Graph &g) {
    std::vector<Vectorize> all;
    const StagesOf stages_of(g);
    for (auto &n : g.nodes)
        for (int lanes = 1; lanes <= most_lanes && why_no_kernel(n).empty(); lanes *= 2)
            if (disagrees(g, stages_of, n.id, lanes) < 0) all.push_back({n.id, lanes});
    return all;
}

void check_lanes(const Graph &g) {
    if (std::none_of(g.nodes.begin(), g.nodes.end(), [](const Node &n) { return n.directives.vectorize > 0; })) return;
    const StagesOf stages_of(g);
    for (auto &n : g.nodes) {
        if (!n.directives.vectorize) continue;
        const NodeId other = disagrees(g, stages_of, n.id, n.directives.vectorize);
        if (other >= 0) refuse(lanes_text(n, g.at(other)));
    }
}

}  // namespace stretto
