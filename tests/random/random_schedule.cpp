#include "tests/random/random_schedule.h"

namespace stretto {

namespace {

class Choice {
    std::mt19937_64 random;

public:
    explicit Choice(uint64_t seed) : random(seed) {
    }
    // By remainder, not by a distribution: those differ between standard libraries.
    int below(int n) {
        return int(random() % uint64_t(n));
    }
    template <class T>
    const T &of(const std::vector<T> &v) {
        return v[below(int(v.size()))];
    }
    bool coin() {
        return random() & 1;
    }
};

NodeIds written(const Graph &g, bool (Node::*what)() const) {
    return nodes_where(g, [&](const Node &n) { return (n.*what)() && !is_part(g, n); });
}

// Most choices are of nodes that the verb is meant for; some of any node.
NodeId target(const Graph &g, Choice &choose, const NodeIds &meant) {
    NodeIds any = nodes_where(g, [&](const Node &n) { return !is_part(g, n); });
    return meant.empty() || choose.below(8) == 0 ? choose.of(any) : choose.of(meant);
}

int dimension(const Graph &g, Choice &choose, NodeId t) {
    int n = int(g.at(t).dimensions());
    return n > 1 ? choose.below(n) : 0;
}

// What can be computed on slices after the gather: all of it, or a part that is closed or not.
NodeIds reorder_set(const Graph &g, Choice &choose, NodeId gather) {
    NodeIds largest = g.at(gather).stores_to_ranks() ? largest_reorder(g, gather) : NodeIds{};
    if (largest.empty()) return {choose.of(nodes_where(g, [&](const Node &n) { return !is_part(g, n); }))};
    if (choose.coin()) return largest;
    NodeId last = choose.of(largest);
    NodeIds set;
    for (NodeId id : largest)
        if (id == last || depends_on(g, last, id)) set.push_back(id);
    if (choose.below(4) == 0) set.erase(set.begin() + choose.below(int(set.size())));
    return set;
}

// A piece of a legal Group, or a few nodes in a row.
NodeIds fuse_set(const Graph &g, Choice &choose) {
    NodeIds free = nodes_where(g, [](const Node &n) { return !n.is_argument() && n.directives.group < 0; });
    std::vector<NodeIds> groups;
    for (auto &set : legal_groups(g, NodeSet(free.begin(), free.end()))) {
        NodeIds ids = without_parts(g, set);
        if (ids.size() > 1) groups.push_back(ids);
    }
    NodeIds all = groups.empty() || choose.below(4) == 0
                      ? nodes_where(g, [&](const Node &n) { return !n.is_argument() && !is_part(g, n); })
                      : choose.of(groups);
    int first = choose.below(int(all.size())), last = first + choose.below(int(all.size()) - first);
    if (choose.coin()) return all;
    return {all.begin() + first, all.begin() + last + 1};
}

Verb random_verb(const Graph &g, Choice &choose, const std::string &name) {
    if (name == "split") {
        NodeId t = target(g, choose, written(g, &Node::reduces_over_ranks));
        return Split{t, dimension(g, choose, t)};
    }
    if (name == "reorder") {
        NodeId gather = target(g, choose, written(g, &Node::stores_to_ranks));
        return Reorder{gather, reorder_set(g, choose, gather)};
    }
    if (name == "slice") {
        NodeId t = target(g, choose, nodes_where(g, [&](const Node &n) {
                              return !n.is_argument() && !n.is_communication() && !is_part(g, n) && n.layout.is_replicated();
                          }));
        return Slice{t, dimension(g, choose, t)};
    }
    if (name == "as_slice") return AsSlice{choose.below(int(g.arguments.size()))};
    if (name == "fuse") return Fuse{fuse_set(g, choose)};
    if (name == "collective")
        return Collective{target(g, choose, written(g, &Node::reduces_over_ranks)), choose.coin() ? OneShot : TwoPhase};
    if (name == "vectorize") {
        NodeIds maps = nodes_where(g, [&](const Node &n) { return n.as<Map>() && !is_part(g, n); });
        return Vectorize{target(g, choose, maps), 1 << choose.below(5)};
    }
    return FuseAll{};
}

}  // namespace

Verb random_verb(const Graph &g, const std::string &name, uint64_t seed) {
    Choice choose(seed);
    return random_verb(g, choose, name);
}

const Names &verb_names() {
    static const Names names = {"split", "reorder", "slice", "as_slice", "fuse", "fuse_all", "collective", "vectorize"};
    return names;
}

Schedule random_schedule(const Program &p, uint64_t seed, int tries, VerbCounts *counts) {
    Schedule s(p);
    Choice choose(seed);
    for (int i = 0; i < tries; i++) {
        // What fuses comes late: a Group is not changed by the verbs after it.
        bool late = i >= tries - (tries + 3) / 4;
        const std::string &name = choose.of(verb_names());
        if (!late && (name == "fuse" || name == "fuse_all")) continue;
        Verb verb = random_verb(s.graph(), choose, name);
        bool legal = true;
        try {
            s.add(verb);
        } catch (const Error &) { legal = false; }
        if (counts) (legal ? counts->accepted : counts->refused)[name]++;
    }
    return s;
}

}  // namespace stretto
