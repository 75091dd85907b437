#include "schedule/as_slice.h"
#include "lang/infer.h"

namespace stretto {

namespace {

// The dimension of argument node t on which all of its reads are of the reader's slice.
int sliced_dimension(const Graph &g, const Node &t) {
    int dim = -1;
    const Node *first = nullptr;
    for (NodeId r : g.readers(t.id)) {
        const Node &reader = g.at(r);
        std::string left = reader.is_communication() ? reader.name : left_side(reader);
        if (!reader.layout.is_sliced() || reader.is_communication())
            refuse(left + " is " + to_string(reader.layout) + ", not sliced: it reads all of " + t.name + ".");
        auto *blocks = reader.as<Blocks>();
        std::string index = blocks ? reader.rvars()[size_t(blocks->split)]
                                   : reader.vars()[size_t(reader.layout.first_sliced())];
        for (auto &indices : reads_of(reader, t.id)) {
            int d = 0;
            while (d < int(indices.size()) && bare_index(indices[d]) != index) d++;
            if (d == int(indices.size()))
                refuse(left + " is sliced on " + index + " and reads " + element_text(g, t.name, indices) +
                       ", which is not its slice of " + t.name + ".");
            if (dim >= 0 && d != dim)
                refuse(first->name + " reads slices of dimension " + std::to_string(dim) + " of " + t.name + ", " +
                       reader.name + " of dimension " + std::to_string(d) + ".");
            dim = d;
            first = &reader;
        }
    }
    if (dim < 0) refuse("Nothing reads " + t.name + ".");
    return dim;
}

}  // namespace

Graph apply(const Graph &before, const AsSlice &v) {
    const Argument &a = before.arguments[v.argument];
    if (a.scalar) refuse(a.name + " is a scalar.");
    if (a.access == Access::Output) refuse(a.name + " is an output: it has no value at entry.");
    if (!a.layout.is_replicated())
        refuse(a.name + " is " + to_string(a.layout) + (a.layout.is_sliced() ? " already." : ", not replicated."));
    int dim = sliced_dimension(before, before.at(a.node));

    Graph g = before;
    Node &entry = g.at(a.node);
    g.arguments[v.argument].layout = entry.layout = sliced(dim);
    entry.domain[size_t(dim)].axes = entry.layout.axes_of(size_t(dim));
    for (auto &r : g.results) {
        if (r.argument != v.argument) continue;
        if (const Node &value = g.at(r.node); value.stores_to_ranks()) {
            NodeId slice = g.reads(value.id)[0];
            if (g.at(slice).layout == sliced(dim)) r.node = slice;
        }
        const Node &now = g.at(r.node);
        if (now.layout != sliced(dim))
            refuse("Its new value " + now.name + " is " + to_string(now.layout) + ", the reads are of " +
                   to_string(sliced(dim)) + ".");
    }
    return settle(std::move(g));
}

std::vector<AsSlice> AsSlice::moves(const Graph &g) {
    std::vector<AsSlice> all;
    for (ArgumentId a = 0; a < int(g.arguments.size()); a++) all.push_back({a});
    return legal_of(g, all);
}

}  // namespace stretto
