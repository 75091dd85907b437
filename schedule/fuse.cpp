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
        refuse_if_grouped(before, before.at(id), "fuse of other sets");
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
    try {
        rewrite(g, v);
        return true;
    } catch (const Error &) { return false; }
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

}  // namespace

Graph apply(const Graph &before, const Fuse &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal;
        Fuse larger{closed(before, v)};
        if (larger.set != v.set && is_legal(before, larger)) {
            legal.push_back("s." + to_string(before, larger));
        } else {
            NodeIds whole = closed(before, v);
            NodeSet free;
            for (NodeId id : group_set(before, whole))
                if (before.at(id).directives.group < 0 && !before.at(id).is_argument()) free.insert(id);
            for (auto &set : legal_groups(before, free)) {
                Fuse part{without_parts(before, set)};
                if (part.set.size() > 1 && is_legal(before, part)) legal.push_back("s." + to_string(before, part));
            }
        }
        refuse(reason_of(e), legal, "no two of these in one Group.");
    }
}

std::string to_string(const Graph &g, const Fuse &v, const Naming &name) {
    return "fuse({" + names_of(g, v.set, name) + "})";
}

}  // namespace stretto
