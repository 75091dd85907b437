#include "lang/graph.h"
#include <algorithm>
#include <set>
#include "lang/error.h"

namespace stretto {

const Node &Graph::at(NodeId id) const {
    for (auto &n : nodes)
        if (n.id == id) return n;
    throw Error("internal: the graph of " + program + " has no node " + std::to_string(id));
}

Node &Graph::at(NodeId id) {
    return const_cast<Node &>(static_cast<const Graph *>(this)->at(id));
}

const Node *Graph::find(const std::string &name) const {
    for (auto &n : nodes)
        if (n.name == name) return &n;
    return nullptr;
}

const Argument *Graph::find_argument(const std::string &name) const {
    for (auto &a : arguments)
        if (a.name == name) return &a;
    return nullptr;
}

std::vector<NodeId> Graph::readers(NodeId id) const {
    std::vector<NodeId> r;
    for (auto &n : nodes) {
        auto ids = nodes_read(n.value);
        if (std::find(ids.begin(), ids.end(), id) != ids.end()) r.push_back(n.id);
    }
    return r;
}

bool Graph::is_result(NodeId id) const {
    return std::any_of(results.begin(), results.end(), [=](const Result &r) { return r.node == id; });
}

Node &Graph::add(Node n) {
    n.id = next_id++;
    nodes.push_back(std::move(n));
    return nodes.back();
}

Node Graph::communication(const std::string &name, Op op, const Node &operand) const {
    Node n;
    n.name = name;
    n.op = std::move(op);
    n.type = operand.type;
    n.dims = operand.dims;
    n.vars = operand.vars;
    if (operand.is_argument())
        for (size_t d = 0; d < operand.dims.size(); d++) n.vars.push_back(default_index(int(d)));
    n.value = n.source = access(operand.id, operand.type, index_exprs(n.vars));
    return n;
}

void Graph::redirect_reads(NodeId from, NodeId to, const std::function<bool(const Node &)> &who) {
    for (auto &n : nodes) {
        if (n.id == to || (who && !who(n))) continue;
        n.value = redirect(n.value, from, to);
        n.source = redirect(n.source, from, to);
    }
}

void Graph::redirect_results(NodeId from, NodeId to) {
    for (auto &r : results)
        if (r.node == from) r.node = to;
}

void Graph::tidy() {
    std::set<NodeId> live, done;
    std::function<void(NodeId)> mark = [&](NodeId id) {
        if (!live.insert(id).second) return;
        for (NodeId r : reads(id)) mark(r);
    };
    for (auto &r : results) mark(r.node);
    std::vector<Node> sorted;
    std::function<void(NodeId)> emit = [&](NodeId id) {
        if (!done.insert(id).second) return;
        for (NodeId r : reads(id)) emit(r);
        sorted.push_back(at(id));
    };
    for (auto &n : nodes)
        if (n.is_argument() || live.count(n.id)) emit(n.id);
    nodes = std::move(sorted);
}

std::string to_string(const Graph &g, const Dim &d) {
    switch (d.kind) {
    case Dim::Constant: return std::to_string(d.value);
    case Dim::Size: return g.sizes[d.value];
    case Dim::Ranks: return "ranks()";
    }
    return "";
}

std::string to_string(const Graph &g, const Dims &dims) {
    std::string s;
    for (auto &d : dims) s += (s.empty() ? "" : ", ") + to_string(g, d);
    return s;
}

}  // namespace stretto
