#include "schedule/nodes.h"
#include <algorithm>
#include "lang/infer.h"
#include "lang/print.h"
#include "lang/results.h"
#include "schedule/refuse.h"
#include "schedule/sweep.h"

namespace stretto {

std::string name_of(const Node &n) {
    return n.name;
}

// ---- parts

namespace {

bool gathers_blocks(const Graph &g, const Node &n) {
    return n.origin.role == Role::AllGather && g.identities[size_t(n.origin.of)].origin.role == Role::Blocks;
}

}  // namespace

bool is_part(const Graph &g, const Node &n) {
    return n.as<Blocks>() || gathers_blocks(g, n) || n.origin.role == Role::Inner;
}

NodeIds parts_of(const Graph &g, NodeId id) {
    NodeIds parts;
    std::function<void(NodeId)> visit = [&](NodeId x) {
        for (NodeId r : g.reads(x))
            if (is_part(g, g.at(r)) && std::find(parts.begin(), parts.end(), r) == parts.end()) {
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

std::string left_side(const Graph &, const Node &n) {
    return n.name + "(" + join(n.vars()) + ")";
}

std::string access_text(const Graph &g, const Halide::Internal::Call *c) {
    const Node &n = g.at(accessed(c));
    // The result of a split is what the user knows as the tensor that was split.
    const bool of_split = n.origin.role == Role::AllGather && !g.has(n.origin.of);
    std::string name = of_split ? g.identities[size_t(n.origin.of)].name : n.name;
    std::vector<std::string> indices;
    for (auto &i : indices_of(c)) indices.push_back(to_string(g, i));
    return name + "(" + join(indices) + ")";
}

std::string kind_of(const Node &n) {
    struct Visitor {
        std::string operator()(const ArgumentValue &) { return "an argument"; }
        std::string operator()(const Map &) { return "elementwise"; }
        std::string operator()(const Reduction &) { return "a contraction"; }
        std::string operator()(const Blocks &) { return "the block results of a full reduction"; }
        std::string operator()(const Fold &) { return "a full reduction"; }
        std::string operator()(const Communication &c) {
            if (c.reduce) return !c.to_dim ? "an all-reduce" : "a reduce-scatter";
            return c.from.kind == From::Owner ? "an all-gather" : "a broadcast";
        }
    };
    return std::visit(Visitor(), n.op);
}

std::string names_of(const Graph &g, const NodeIds &ids, const Naming &name) {
    std::vector<std::string> names;
    for (NodeId id : ids) names.push_back(name(g.at(id)));
    return join(names);
}

NodeIds nodes_where(const Graph &g, const std::function<bool(const Node &)> &f) {
    NodeIds ids;
    for (auto &n : g.nodes)
        if (f(n)) ids.push_back(n.id);
    return ids;
}

// ---- structure

NodeIds between(const Graph &g, NodeId user, NodeId source) {
    return nodes_where(g, [&](const Node &n) {
        return n.id != user && n.id != source && depends_on(g, user, n.id) && depends_on(g, n.id, source);
    });
}

bool depends_on(const Graph &g, NodeId user, NodeId source) {
    NodeSet seen;
    std::function<bool(NodeId)> visit = [&](NodeId x) {
        if (x == source) return true;
        if (!seen.insert(x).second) return false;
        for (NodeId r : g.reads(x))
            if (visit(r)) return true;
        return false;
    };
    return visit(user);
}

std::vector<std::vector<Expr>> reads_of(const Node &n, NodeId x) {
    std::vector<std::vector<Expr>> reads;
    for_each_access(n.value, [&](const Halide::Internal::Call *c) {
        if (accessed(c) == x) reads.push_back(indices_of(c));
    });
    return reads;
}

bool are_indices(const std::vector<Expr> &indices, const Names &names) {
    if (indices.size() != names.size()) return false;
    for (size_t d = 0; d < names.size(); d++)
        if (bare_index(indices[d]) != names[d]) return false;
    return true;
}

// ---- rewriting

void inline_reads(Graph &g, const Node &from, const std::function<bool(const Node &)> &who) {
    auto inlined = [&](const Expr &e, const Expr &value) {
        return map_accesses(e, [&](const Halide::Internal::Call *c) {
            return accessed(c) == from.id ? substitute_indices(value, from.vars(), indices_of(c)) : Expr(c);
        });
    };
    for (auto &n : g.nodes) {
        if (n.id == from.id || !who(n)) continue;
        n.value = inlined(n.value, from.value);
        n.source = inlined(n.source, from.source);
    }
}

NodeId add_gather(Graph &g, NodeId x, int dim, const std::function<bool(const Node &)> &who) {
    NodeId id = g.add(g.communication({Role::AllGather, x, 0}, {{From::Owner, {world_axis}, 0, dim}, {}}, g.at(x))).id;
    g.redirect_reads(x, id, who);
    g.redirect_results(x, id);
    infer_node(g, id);
    return id;
}

void refuse_if_grouped(const Graph &g, const Node &n, const std::string &verb) {
    if (n.directives.group < 0) return;
    refuse(n.name + " is in Group " + std::to_string(n.directives.group) + " {" +
           names_of(g, group_members(g, n.directives.group)) + "} already: s." + verb + " comes before s.fuse.");
}

Graph settle(Graph g) {
    g.tidy();
    infer(g);
    check_results(g);
    check_groups(g);
    return g;
}

}  // namespace stretto
