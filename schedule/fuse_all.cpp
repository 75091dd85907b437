#include "schedule/fuse_all.h"
#include "schedule/sweep.h"

namespace stretto {

Graph apply(const Graph &before, const FuseAll &) {
    Graph g = before;
    for (auto &set : legal_groups(before, [](const Node &) { return true; }))
        if (without_parts(before, set).size() > 1) make_group(g, set);
    return settle(std::move(g));
}

std::vector<FuseAll> FuseAll::moves(const Graph &g) { return legal_of<FuseAll>(g, {{}}); }

}  // namespace stretto
