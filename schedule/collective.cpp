#include "schedule/collective.h"

namespace stretto {

Graph apply(const Graph &before, const Collective &v) {
    const Node &t = before.at(v.tensor);
    if (!t.is_all_reduce()) refuse(t.name + " is " + kind_text(t) + ", not an all-reduce.");
    if (v.chosen == TwoPhase && !t.dimensions())
        refuse(t.name + " has no dimension, so there are no slices for two phases.");
    Graph g = before;
    std::get<Communication>(g.at(v.tensor).op).algorithm = v.chosen;
    return settle(std::move(g));
}

std::vector<Collective> Collective::moves(const Graph &g) {
    std::vector<Collective> all;
    for (auto &n : g.nodes)
        if (n.is_all_reduce())
            for (Algorithm a : {OneShot, TwoPhase}) all.push_back({n.id, a});
    return legal_of(g, all);
}

const std::vector<std::pair<std::string, Algorithm>> &algorithm_names() {
    static const std::vector<std::pair<std::string, Algorithm>> names = {
        {"OneShot", OneShot}, {"TwoPhase", TwoPhase}, {"Auto", Auto}};
    return names;
}

std::string to_string(Algorithm a) {
    for (auto &[text, known] : algorithm_names())
        if (known == a) return text;
    return "";
}

}  // namespace stretto
