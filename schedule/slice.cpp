#include "schedule/slice.h"
#include <algorithm>
#include "lang/infer.h"
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

}  // namespace

Graph apply(const Graph &before, const Slice &v) {
    const Node &t = before.at(v.tensor);
    refuse_if_grouped(before, t, Slice::name);
    NodeIds sliced = blocks_of(before, t);
    const bool reduction = !sliced.empty();
    if (!reduction && !t.as<Map>()) refuse(t.name + " is " + kind_text(t) + ", not elementwise or a full reduction.");
    if (!reduction && !t.dimensions()) refuse(t.name + " has no dimension and no full reduction.");
    if (!t.layout.is_replicated()) refuse(t.name + " is " + to_string(t.layout) + ", not replicated.");
    if (reduction && v.dim)
        refuse(t.name + " is a full reduction, sliced by its blocks, not by dimension " + std::to_string(v.dim) + ".");
    if (!reduction) check_dimension(t, v.dim);
    auto whole = [&](NodeId b) { return before.at(b).layout.is_replicated(); };
    sliced.erase(std::stable_partition(sliced.begin(), sliced.end(), whole), sliced.end());
    if (reduction && sliced.empty()) refuse("The block results of " + t.name + " are computed on slices already.");
    if (!reduction) sliced = {t.id};

    Graph g = before;
    for (NodeId id : sliced) {
        Node &n = g.at(id);
        if (Map *m = n.as<Map>()) m->slice = v.dim;
        if (Blocks *b = n.as<Blocks>()) b->slice = 0;
        infer_node(g, id);
        add_gather(g, id, id, before.readers(id));
    }
    return settle(std::move(g));
}

std::vector<Slice> Slice::moves(const Graph &g) {
    std::vector<Slice> all;
    for (auto &n : g.nodes) {
        if (is_part(g, n) || !n.layout.is_replicated() || n.is_argument() || n.is_communication()) continue;
        for (int d = 0; d < std::max(1, int(n.dimensions())); d++) all.push_back({n.id, d});
    }
    return legal_of(g, all);
}

// An all-reduce has slices after a split.
Names instead(const Graph &g, const Slice &v) {
    return as_code(g, with_subject_of(g, Split{v.tensor, v.dim}, Split::moves(g)));
}

}  // namespace stretto
