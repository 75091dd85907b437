#include "schedule/fuse.h"
#include "schedule/refuse.h"
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

Graph rewrite(const Graph &before, const Fuse &v) {
    if (v.set.empty()) refuse("The set is empty.");
    NodeSet seen;
    for (NodeId id : v.set) {
        if (!seen.insert(id).second) refuse(before.at(id).name + " is in the set twice.");
        int group = before.at(id).directives.group;
        if (group >= 0)
            refuse(before.at(id).name + " is in Group " + std::to_string(group) + " {" +
                   names_of(before, group_members(before, group)) + "} already.");
    }
    NodeSet set = group_set(before, v.set);
    std::string why = why_no_group(before, set);
    if (!why.empty()) refuse(why);
    Graph g = before;
    for (NodeId id : set) g.at(id).directives.group = g.next_group;
    g.next_group++;
    return settle(std::move(g));
}

bool is_legal(const Graph &g, const Fuse &v) {
    return succeeds([&] { rewrite(g, v); });
}

// The set with everything that lies between two of its members.
NodeIds closed(const Graph &g, const Fuse &v) {
    NodeSet set = group_set(g, v.set), all = set;
    for (NodeId user : set)
        for (NodeId source : set)
            if (user != source && depends_on(g, user, source))
                for (NodeId x : between(g, user, source)) all.insert(x);
    return without_parts(g, all);
}

NodeSet all_nodes(const Graph &g) {
    NodeIds ids = nodes_where(g, [](const Node &) { return true; });
    return NodeSet(ids.begin(), ids.end());
}

// The legal sets into which `set` can be cut, as code.
std::vector<std::string> legal_parts(const Graph &g, const NodeSet &set) {
    NodeSet free;
    for (NodeId id : set)
        if (g.at(id).directives.group < 0 && !g.at(id).is_argument()) free.insert(id);
    std::vector<std::string> legal;
    for (auto &part : legal_groups(g, free)) {
        Fuse v{without_parts(g, part)};
        if (v.set.size() > 1 && is_legal(g, v)) legal.push_back("s." + to_string(g, v));
    }
    return legal;
}

}  // namespace

Graph apply(const Graph &before, const Fuse &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal;
        Fuse larger{closed(before, v)};
        if (larger.set.size() > 1 && larger.set != v.set && is_legal(before, larger))
            legal.push_back("s." + to_string(before, larger));
        else
            legal = legal_parts(before, group_set(before, larger.set));
        if (legal.empty()) legal = legal_parts(before, all_nodes(before));
        refuse(reason_of(e), legal, "no fuse; nothing here that is in no Group can share a sweep.");
    }
}

std::string to_string(const Graph &g, const Fuse &v, const Naming &name) {
    return "fuse({" + names_of(g, v.set, name) + "})";
}

}  // namespace stretto
