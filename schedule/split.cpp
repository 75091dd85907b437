#include "schedule/split.h"
#include "lang/infer.h"

namespace stretto {

Graph apply(const Graph &before, const Split &v) {
    const Node &t = before.at(v.tensor);
    if (!t.is_all_reduce()) {
        const NodeId of = t.origin.of;
        if (t.origin.role == Role::AllGather && !before.has(of))
            refuse(before.identities[size_t(of)].name + " was split already" +
                   (before.made(Role::ReduceScatter, of) >= 0 ? ": " + t.name + " is its all-gather." : "."));
        refuse(t.name + " is " + kind_text(t) + ", not an all-reduce.");
    }
    refuse_if_grouped(before, t, Split::name);
    if (!t.dimensions()) refuse(t.name + " has no dimension, so there is no slice of it.");
    check_dimension(t, v.dim);
    if (std::get<Communication>(t.op).algorithm != Algorithm::Auto)
        refuse("s.collective(" + t.name + ", ...) chose an algorithm for the whole all-reduce.");

    Graph g = before;
    Node rs = t;
    rs.id = -1;
    rs.origin = {Role::ReduceScatter, t.id, 0};
    std::get<Communication>(rs.op).to_dim = v.dim;
    const NodeId scattered = g.add(rs).id;
    infer_node(g, scattered);
    g.became[v.tensor] = add_gather(g, v.tensor, scattered, before.readers(v.tensor));
    return settle(std::move(g));
}

std::vector<Split> Split::moves(const Graph &g) {
    std::vector<Split> all;
    for (auto &n : g.nodes)
        if (n.is_all_reduce())
            for (int d = 0; d < int(n.dimensions()); d++) all.push_back({n.id, d});
    return legal_of(g, all);
}

}  // namespace stretto
