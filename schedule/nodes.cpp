#include "schedule/nodes.h"
#include "lang/infer.h"
#include "schedule/refuse.h"
#include "schedule/sweep.h"
#include "schedule/vectorize.h"

namespace stretto {

// ---- who reads whom

Links::Links(const Graph &g)
    : reads(g.identities.size()), readers(g.identities.size()), is_result(g.identities.size()) {
    for (auto &n : g.nodes) {
        reads[size_t(n.id)] = nodes_read(n.value);
        for (NodeId r : reads[size_t(n.id)]) readers[size_t(r)].push_back(n.id);
    }
    for (auto &r : g.results) is_result[size_t(r.node)] = 1;
}

NodeSet dependents(const Graph &g, const NodeSet &sources) {
    NodeSet set;
    for (auto &n : g.nodes)  // operands come before users
        for (NodeId r : nodes_read(n.value))
            if (sources.count(r) || set.count(r)) set.insert(n.id);
    return set;
}

NodeSet dependencies(const Graph &g, const NodeSet &users) {
    NodeSet set;
    for (size_t i = g.nodes.size(); i-- > 0;)
        if (users.count(g.nodes[i].id) || set.count(g.nodes[i].id))
            for (NodeId r : nodes_read(g.nodes[i].value)) set.insert(r);
    return set;
}

std::vector<Index> loops_of(const Node &n) {
    const auto first = n.domain.begin() + ptrdiff_t(n.as<Blocks>() ? n.dimensions() : 0);
    return {first, n.as<Blocks>() ? n.domain.end() : first + ptrdiff_t(n.dimensions())};
}

LoopKey loop_key(const Node &n) {
    LoopKey key;
    for (auto &i : loops_of(n)) key.push_back({i.extent.kind, i.extent.value, i.axes});
    return key;
}

std::vector<Read> reads_of(const Graph &g, const Node &n) {
    const std::vector<Index> loops = loops_of(n);
    std::vector<Read> reads;
    for_each_access(n.value, [&](const Halide::Internal::Call *c) {
        const Node &t = g.at(accessed(c));
        const std::vector<Expr> indices = indices_of(c);
        bool same = indices.size() == loops.size() && t.dimensions() == loops.size();
        for (size_t d = 0; same && d < loops.size(); d++)
            same = bare_index(indices[d]) == loops[d].name && t.domain[d].extent == loops[d].extent;
        reads.push_back({t.id, same});
    });
    return reads;
}

std::vector<std::vector<Expr>> reads_of(const Node &n, NodeId x) {
    std::vector<std::vector<Expr>> reads;
    for_each_access(n.value, [&](const Halide::Internal::Call *c) {
        if (accessed(c) == x) reads.push_back(indices_of(c));
    });
    return reads;
}

// ---- parts

bool exchanges_blocks(const Graph &g, const Node &n) {
    return n.origin.role == Role::AllGather && g.identities[size_t(n.origin.of)].origin.role == Role::Blocks;
}

bool is_part(const Graph &g, const Node &n) {
    return n.as<Blocks>() || exchanges_blocks(g, n) || n.origin.role == Role::Inner;
}

NodeIds parts_of(const Graph &g, NodeId id) {
    NodeIds parts;
    std::function<void(NodeId)> visit = [&](NodeId x) {
        for (NodeId r : g.reads(x))
            if (is_part(g, g.at(r)) && !contains(parts, r)) {
                visit(r);
                parts.push_back(r);
            }
    };
    visit(id);
    return parts;
}

NodeSet with_parts(const Graph &g, const NodeIds &ids) {
    NodeSet set(ids.begin(), ids.end());
    for (NodeId id : ids)
        for (NodeId p : parts_of(g, id)) set.insert(p);
    return set;
}

NodeIds without_parts(const Graph &g, const NodeSet &set) {
    NodeSet owned;
    for (NodeId id : set)
        if (!is_part(g, g.at(id)))
            for (NodeId p : parts_of(g, id)) owned.insert(p);
    return nodes_where(g, [&](const Node &n) { return set.count(n.id) && !owned.count(n.id); });
}

// ---- messages

std::string left_side(const Node &n) { return n.name + "(" + join(n.vars()) + ")"; }

std::string element_text(const Graph &g, const std::string &name, const std::vector<Expr> &indices) {
    return name + "(" + join(indices, [&](const Expr &i) { return to_string(g, i); }) + ")";
}

std::string access_text(const Graph &g, const Halide::Internal::Call *c) {
    const Node &n = g.at(accessed(c));
    // The result of a split is what the user knows as the tensor that was split.
    const bool of_split = n.origin.role == Role::AllGather && !g.has(n.origin.of);
    return element_text(g, of_split ? g.identities[size_t(n.origin.of)].name : n.name, indices_of(c));
}

std::string names_of(const Graph &g, const NodeIds &ids) {
    return join(ids, [&](NodeId id) { return g.identities[size_t(id)].name; });
}

NodeIds nodes_where(const Graph &g, const std::function<bool(const Node &)> &f) {
    NodeIds ids;
    for (auto &n : g.nodes)
        if (f(n)) ids.push_back(n.id);
    return ids;
}

// ---- rewriting

void inline_read(Node &n, const Node &from) {
    auto inlined = [&](const Expr &e, const Expr &value) {
        return map_accesses(e, [&](const Halide::Internal::Call *c) {
            return accessed(c) == from.id ? substitute_indices(value, from.vars(), indices_of(c)) : Expr(c);
        });
    };
    n.value = inlined(n.value, from.value);
    n.source = inlined(n.source, from.source);
}

NodeId add_gather(Graph &g, NodeId of, NodeId x, const NodeIds &readers) {
    const Layout &l = g.at(x).layout;
    const int dim = l.first_sliced();
    const Communication gather{{From::Owner, l.axes_of(size_t(dim)), 0, dim}, {}, {}, Algorithm::Auto};
    const NodeId id = g.add(g.communication({Role::AllGather, of, 0}, gather, g.at(x))).id;
    g.redirect_reads(of, id, readers);
    g.redirect_results(of, id);
    infer_node(g, id);
    return id;
}

void refuse_if_grouped(const Graph &g, const Node &n, const std::string &verb) {
    const int group = n.directives.group;
    if (group < 0) return;
    refuse(n.name + " is in Group " + std::to_string(group) + " {" + names_of(g, group_members(g, group)) + "} already" +
           (verb.empty() ? "." : ": s." + verb + " comes before s.fuse."));
}

void check_set(const Graph &g, const NodeIds &set) {
    if (set.empty()) refuse("The set is empty.");
    for (NodeId id : set)
        if (std::count(set.begin(), set.end(), id) > 1) refuse(g.at(id).name + " is in the set twice.");
}

void check_dimension(const Node &n, int dim) {
    if (dim >= 0 && dim < int(n.dimensions())) return;
    refuse(n.name + " has " + counted(n.dimensions(), "dimension") + ", there is no dimension " + std::to_string(dim) + ".");
}

Graph settle(Graph g) {
    g.tidy();
    infer(g);
    check_results(g);
    check_groups(g);
    check_lanes(g);
    return g;
}

}  // namespace stretto
