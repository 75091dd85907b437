#include "schedule/split.h"
#include "lang/infer.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

Graph rewrite(const Graph &before, const Split &v) {
    const Node &t = before.at(v.tensor);
    auto *reduce = t.as<AllReduce>();
    if (!reduce) {
        std::string base = t.name.substr(0, t.name.rfind('.'));
        if (t.as<AllGather>() && before.find(base + ".rs"))
            refuse(base + " was split already: " + t.name + " is its all-gather.");
        if (t.as<AllGather>() && before.find(base) == nullptr) refuse(base + " was split already.");
        refuse(t.name + " is " + kind_of(t) + ", not an all-reduce.");
    }
    refuse_if_grouped(before, t, "split");
    if (t.dims.empty()) refuse(t.name + " has no dimension, so there is no slice of it.");
    if (v.dim < 0 || v.dim >= int(t.dims.size()))
        refuse(t.name + " has " + std::to_string(t.dims.size()) + (t.dims.size() == 1 ? " dimension" : " dimensions") +
               ", there is no dimension " + std::to_string(v.dim) + ".");
    if (reduce->algorithm != Algorithm::Auto)
        refuse("s.collective(" + t.name + ", ...) chose an algorithm for the whole all-reduce.");

    Graph g = before;
    Node rs = t;
    rs.name = t.name + ".rs";
    rs.op = ReduceScatter{reduce->op, reduce->accumulator, v.dim};
    NodeId rs_id = g.add(rs).id;
    infer_node(g, rs_id);
    NodeId ag_id = g.add(g.communication(t.name + ".ag", AllGather{v.dim}, g.at(rs_id))).id;
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
        for (int d = 0; d < int(n.dims.size()); d++)
            if ((only < 0 || n.id == only) && is_legal(g, Split{n.id, d})) legal.push_back("s." + to_string(g, Split{n.id, d}));
    return legal;
}

std::string to_string(const Graph &g, const Split &v, const Naming &name) {
    return "split(" + name(g.at(v.tensor)) + ", " + std::to_string(v.dim) + ")";
}

}  // namespace stretto
