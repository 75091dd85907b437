#include "schedule/split.h"
#include "lang/infer.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

Graph rewrite(const Graph &before, const Split &v) {
    const Node &t = before.at(v.tensor);
    auto *reduce = t.as<Communication>();
    if (!reduce || !reduce->reduce || reduce->to_dim) {
        const NodeId of = t.origin.of;
        const bool of_split = t.origin.role == Role::AllGather && !before.has(of);
        if (of_split)
            refuse(before.identities[size_t(of)].name + " was split already" +
                   (before.made(Role::ReduceScatter, of) >= 0 ? ": " + t.name + " is its all-gather." : "."));
        refuse(t.name + " is " + kind_of(t) + ", not an all-reduce.");
    }
    refuse_if_grouped(before, t, "split");
    if (!t.dimensions()) refuse(t.name + " has no dimension, so there is no slice of it.");
    if (v.dim < 0 || v.dim >= int(t.dimensions()))
        refuse(t.name + " has " + std::to_string(t.dimensions()) + (t.dimensions() == 1 ? " dimension" : " dimensions") +
               ", there is no dimension " + std::to_string(v.dim) + ".");
    if (reduce->algorithm != Algorithm::Auto)
        refuse("s.collective(" + t.name + ", ...) chose an algorithm for the whole all-reduce.");

    Graph g = before;
    Node rs = t;
    rs.id = -1;
    rs.origin = {Role::ReduceScatter, t.id, 0};
    rs.as<Communication>()->to_dim = v.dim;
    NodeId rs_id = g.add(rs).id;
    infer_node(g, rs_id);
    const Communication gather{{From::Owner, reduce->from.axes, 0, v.dim}, {}};
    NodeId ag_id = g.add(g.communication({Role::AllGather, v.tensor, 0}, gather, g.at(rs_id))).id;
    g.became[v.tensor] = ag_id;
    g.redirect_reads(v.tensor, ag_id);
    g.redirect_results(v.tensor, ag_id);
    return settle(std::move(g));
}

}  // namespace

bool is_legal(const Graph &g, const Split &v) {
    return succeeds([&] { rewrite(g, v); });
}

Graph apply(const Graph &before, const Split &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal = legal_splits(before, v.tensor);
        if (legal.empty()) legal = legal_splits(before);
        refuse(reason_of(e), legal, "no split; no all-reduce here has a dimension, no Group and no collective of its own.");
    }
}

std::vector<std::string> legal_splits(const Graph &g, NodeId only) {
    std::vector<std::string> legal;
    for (auto &n : g.nodes)
        for (int d = 0; d < int(n.dimensions()); d++)
            if ((only < 0 || n.id == only) && is_legal(g, Split{n.id, d})) legal.push_back("s." + to_string(g, Split{n.id, d}));
    return legal;
}

std::string to_string(const Graph &g, const Split &v, const Naming &name) {
    return "split(" + name(g.at(v.tensor)) + ", " + std::to_string(v.dim) + ")";
}

}  // namespace stretto
