#include "schedule/slice.h"
#include "lang/infer.h"
#include "lang/print.h"
#include "schedule/refuse.h"
#include "schedule/split.h"

namespace stretto {

namespace {

// The block results of t, if t has no dimension and is, or is computed from, full reductions.
NodeIds blocks_of(const Graph &g, const Node &t) {
    NodeIds blocks;
    if (!t.dimensions())
        for (NodeId p : parts_of(g, t.id))
            if (g.at(p).as<Blocks>()) blocks.push_back(p);
    return blocks;
}

Graph rewrite(const Graph &before, const Slice &v) {
    const Node &t = before.at(v.tensor);
    refuse_if_grouped(before, t, "slice");
    NodeIds blocks = blocks_of(before, t);
    if (blocks.empty() && !t.as<Map>()) refuse(t.name + " is " + kind_of(t) + ", not elementwise or a full reduction.");
    if (blocks.empty() && !t.dimensions()) refuse(t.name + " has no dimension and no full reduction.");
    if (!t.layout.is_replicated()) refuse(t.name + " is " + to_string(t.layout) + ", not replicated.");
    std::string dim = std::to_string(v.dim);
    if (!blocks.empty() && v.dim != 0)
        refuse(t.name + " is a full reduction, sliced by its blocks, not by dimension " + dim + ".");
    int dimensions = int(t.dimensions());
    if (blocks.empty() && (v.dim < 0 || v.dim >= dimensions))
        refuse(t.name + " has " + std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions") +
               ", there is no dimension " + dim + ".");

    Graph g = before;
    auto slice = [&](NodeId id, int dim) {
        if (Map *m = g.at(id).as<Map>()) m->slice = dim;
        if (Blocks *b = g.at(id).as<Blocks>()) {
            if (!g.at(id).layout.is_replicated()) refuse("The block results of " + t.name + " are computed on slices already.");
            b->slice = dim;
        }
        infer_node(g, id);
        add_gather(g, id, dim, [](const Node &) { return true; });
    };
    if (blocks.empty()) slice(v.tensor, v.dim);
    for (NodeId b : blocks) slice(b, 0);
    return settle(std::move(g));
}

}  // namespace

bool is_legal(const Graph &g, const Slice &v) {
    return succeeds([&] { rewrite(g, v); });
}

Graph apply(const Graph &before, const Slice &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        std::vector<std::string> legal;
        const Node &t = before.at(v.tensor);
        for (int d = 0; d < int(t.dimensions()); d++)
            if (is_legal(before, Slice{t.id, d})) legal.push_back("s." + to_string(before, Slice{t.id, d}));
        if (legal.empty()) legal = legal_splits(before, t.id);
        if (legal.empty() && is_legal(before, Slice{t.id, 0})) legal.push_back("s." + to_string(before, Slice{t.id, 0}));
        if (legal.empty())
            for (auto &n : before.nodes)
                if (!is_part(before, n) && is_legal(before, Slice{n.id, 0}))
                    legal.push_back("s." + to_string(before, Slice{n.id, 0}));
        refuse(reason_of(e), legal, "no slice; nothing here is replicated, elementwise or a full reduction, and in no Group.");
    }
}

std::string to_string(const Graph &g, const Slice &v, const Naming &name) {
    return "slice(" + name(g.at(v.tensor)) + ", " + std::to_string(v.dim) + ")";
}

}  // namespace stretto
