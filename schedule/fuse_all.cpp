#include "schedule/fuse_all.h"
#include "schedule/sweep.h"

namespace stretto {

Graph apply(const Graph &before, const FuseAll &) {
    Graph g = before;
    NodeIds free = nodes_where(g, [](const Node &n) { return !n.is_argument() && n.directives.group < 0; });
    for (auto &set : legal_groups(before, NodeSet(free.begin(), free.end())))
        if (without_parts(before, set).size() > 1) make_group(g, set);
    return settle(std::move(g));
}

std::vector<FuseAll> FuseAll::moves(const Graph &g) { return legal_of<FuseAll>(g, {{}}); }

}  // namespace stretto
