#include "schedule/fuse.h"
#include "schedule/sweep.h"

namespace stretto {

namespace {

// A contraction inside of a member's expression stays a stage of its own.
NodeSet group_set(const Graph &g, const NodeIds &ids) {
    NodeSet set = with_parts(g, ids);
    for (auto &n : g.nodes)
        if (n.as<Reduction>() && is_part(g, n)) set.erase(n.id);
    return set;
}

// The set with everything that lies between two of its members.
NodeIds closed(const Graph &g, const Fuse &v) {
    NodeSet set = group_set(g, v.set), below = dependents(g, set);
    for (NodeId x : dependencies(g, set))
        if (below.count(x)) set.insert(x);
    return without_parts(g, set);
}

// The legal sets of several into which these nodes can be cut.
std::vector<Fuse> legal_parts(const Graph &g, const std::function<bool(const Node &)> &who) {
    std::vector<Fuse> parts;
    for (auto &part : legal_groups(g, who)) {
        Fuse v{without_parts(g, part)};
        if (v.set.size() > 1) parts.push_back(v);
    }
    return legal_of(g, parts);
}

}  // namespace

Graph apply(const Graph &before, const Fuse &v) {
    check_set(before, v.set);
    for (NodeId id : v.set) refuse_if_grouped(before, before.at(id), "");
    NodeSet set = group_set(before, v.set);
    std::string why = why_no_group(before, set);
    if (!why.empty()) refuse(why);
    Graph g = before;
    make_group(g, set);
    return settle(std::move(g));
}

std::vector<Fuse> Fuse::moves(const Graph &g) {
    return legal_parts(g, [](const Node &) { return true; });
}

// The set with what lies in between, or parts of it.
Names instead(const Graph &g, const Fuse &v) {
    Fuse larger{closed(g, v)};
    std::vector<Fuse> legal;
    if (larger.set.size() > 1 && larger.set != v.set) legal = legal_of<Fuse>(g, {larger});
    const NodeSet set = group_set(g, larger.set);
    if (legal.empty()) legal = legal_parts(g, [&](const Node &n) { return set.count(n.id) > 0; });
    return as_code(g, legal);
}

}  // namespace stretto
