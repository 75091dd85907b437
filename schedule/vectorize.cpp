#include "schedule/vectorize.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

const int most_lanes = 64;  // of one-byte elements in the widest registers there are

std::string why_not(const Node &t) {
    if (t.is_argument()) return t.name + " is an argument: no kernel computes it.";
    if (t.is_communication() && !t.reduces_over_ranks())
        return t.name + " is " + kind_of(t) + ": a copy, which has no kernel of its own.";
    if (t.as<Blocks>() || !t.dimensions())
        return t.name + " has no dimension" + (t.as<Map>() ? "." : "; the accumulators of a full reduction are fixed.");
    return "";
}

Graph rewrite(const Graph &before, const Vectorize &v) {
    const Node &t = before.at(v.tensor);
    std::string why = why_not(t);
    if (!why.empty()) refuse(why);
    if (v.lanes < 1 || v.lanes > most_lanes || (v.lanes & (v.lanes - 1)))
        refuse(std::to_string(v.lanes) + " lanes: not a power of two from 1 to " + std::to_string(most_lanes) + ".");
    Graph g = before;
    g.at(v.tensor).directives.vectorize = v.lanes;
    return settle(std::move(g));
}

}  // namespace

Graph apply(const Graph &before, const Vectorize &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal;
        auto offer = [&](NodeId t, int lanes) { legal.push_back("s." + to_string(before, Vectorize{t, lanes})); };
        bool lanes_legal = v.lanes >= 1 && v.lanes <= most_lanes && !(v.lanes & (v.lanes - 1));
        if (why_not(before.at(v.tensor)).empty()) {
            for (int lanes = 1; lanes <= most_lanes; lanes *= 2) offer(v.tensor, lanes);
        } else {
            for (auto &n : before.nodes)
                if (why_not(n).empty()) offer(n.id, lanes_legal ? v.lanes : 1);
        }
        refuse(reason_of(e), legal, "no vectorize; nothing in " + before.program + " has a kernel over a dimension.");
    }
}

std::string to_string(const Graph &g, const Vectorize &v, const Naming &name) {
    return "vectorize(" + name(g.at(v.tensor)) + ", " + std::to_string(v.lanes) + ")";
}

}  // namespace stretto
