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

// Which lanes are asked for, by stage and node.
class Asked {
    const Graph settled;
    const Partition p;
    const Links links;  // of the graph as it is scheduled
    std::map<int, std::map<NodeId, int>> lanes;

    // The stages that compute a node: an addend that is computed where it is loaded is part of those that load it.
    std::set<int> stages_of(NodeId id) const {
        if (auto at = p.stage_of.find(id); at != p.stage_of.end()) return {at->second};
        std::set<int> stages;
        for (NodeId r : links.readers[size_t(id)]) stages.merge(stages_of(r));
        return stages;
    }

public:
    explicit Asked(const Graph &g) : settled(settle_transfers(g)), p(partition(settled)), links(g) {
        for (auto &n : g.nodes)
            if (n.directives.vectorize)
                for (int s : stages_of(n.id)) lanes[s][n.id] = n.directives.vectorize;
    }
    // Another node that asks for other lanes where n is computed; -1 if none does.
    NodeId by_another(NodeId n, int than) const {
        for (int s : stages_of(n))
            if (auto at = lanes.find(s); at != lanes.end())
                for (auto &[id, asked] : at->second)
                    if (id != n && asked != than) return id;
        return -1;
    }
};

}  // namespace

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
    const Asked asked(g);
    for (auto &n : g.nodes)
        for (int lanes = 1; lanes <= most_lanes && why_no_kernel(n).empty(); lanes *= 2)
            if (asked.by_another(n.id, lanes) < 0) all.push_back({n.id, lanes});
    return all;
}

void check_lanes(const Graph &g) {
    auto asks = [](const Node &n) { return n.directives.vectorize > 0; };
    if (std::none_of(g.nodes.begin(), g.nodes.end(), asks)) return;
    const Asked asked(g);
    for (auto &n : g.nodes) {
        const int lanes = n.directives.vectorize, other = lanes ? asked.by_another(n.id, lanes) : -1;
        if (other >= 0)
            refuse(n.name + ", with " + std::to_string(lanes) + " lanes, and " + g.at(other).name + ", with " +
                   std::to_string(g.at(other).directives.vectorize) +
                   ", would share a stage, which has one number of lanes.");
    }
}

}  // namespace stretto
