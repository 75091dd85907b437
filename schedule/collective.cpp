#include "schedule/collective.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

Graph rewrite(const Graph &before, const Collective &v) {
    const Node &t = before.at(v.tensor);
    auto *reduce = t.as<Communication>();
    if (!reduce || !reduce->reduce || reduce->to_dim) refuse(t.name + " is " + kind_of(t) + ", not an all-reduce.");
    if (v.algorithm == Algorithm::TwoPhase && !t.dimensions())
        refuse(t.name + " has no dimension, so there are no slices for two phases.");
    Graph g = before;
    g.at(v.tensor).as<Communication>()->algorithm = v.algorithm;
    return settle(std::move(g));
}

bool is_legal(const Graph &g, const Collective &v) {
    return succeeds([&] { rewrite(g, v); });
}

}  // namespace

Graph apply(const Graph &before, const Collective &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal;
        auto offer = [&](NodeId t) {
            for (auto &[name, algorithm] : algorithm_names())
                if (is_legal(before, {t, algorithm})) legal.push_back("s." + to_string(before, Collective{t, algorithm}));
        };
        offer(v.tensor);
        if (legal.empty())
            for (auto &n : before.nodes) offer(n.id);
        refuse(reason_of(e), legal, "no collective; there is no all-reduce here that is whole.");
    }
}

std::string to_string(const Graph &g, const Collective &v, const Naming &name) {
    for (auto &[text, algorithm] : algorithm_names())
        if (algorithm == v.algorithm) return "collective(" + name(g.at(v.tensor)) + ", " + text + ")";
    throw Error("internal: a collective without an algorithm");
}

const std::vector<std::pair<std::string, Algorithm>> &algorithm_names() {
    static const std::vector<std::pair<std::string, Algorithm>> names = {{"OneShot", Algorithm::OneShot},
                                                                         {"TwoPhase", Algorithm::TwoPhase}};
    return names;
}

}  // namespace stretto
