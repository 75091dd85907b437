#include "lang/graph.h"
#include <algorithm>
#include <set>
#include "lang/error.h"
#include "lang/text.h"

namespace stretto {

bool Node::reduces_over_ranks() const {
    auto *c = as<Communication>();
    return c && c->reduce;
}

bool Node::is_all_reduce() const {
    return reduces_over_ranks() && !as<Communication>()->to_dim;
}

bool Node::is_shift() const {
    auto *c = as<Communication>();
    return c && c->from.kind == From::Shift;
}

bool Node::loads_from_ranks() const {
    auto *c = as<Communication>();
    return c && !c->pushes && (c->from.kind == From::Each || c->from.kind == From::Rank || c->from.kind == From::Shift);
}

bool Node::stores_to_ranks() const {
    auto *c = as<Communication>();
    return c && (c->from.kind == From::Owner || c->pushes);
}

ReduceOp Node::reduce_op() const {
    if (auto *r = as<Reduction>()) return r->op;
    if (auto *b = as<Blocks>()) return b->op;
    if (auto *f = as<Fold>()) return f->op;
    return *std::get<Communication>(op).reduce;
}

size_t Node::dimensions() const {
    size_t d = 0;
    while (d < domain.size() && !domain[d].reduced) d++;
    return d;
}

namespace {

template <class T>
std::vector<T> parts(const std::vector<Index> &domain, bool reduced, T Index::*part) {
    std::vector<T> v;
    for (auto &i : domain)
        if (i.reduced == reduced) v.push_back(i.*part);
    return v;
}

}  // namespace

Names Node::vars() const {
    return parts(domain, false, &Index::name);
}
Names Node::rvars() const {
    return parts(domain, true, &Index::name);
}
Dims Node::dims() const {
    return parts(domain, false, &Index::extent);
}

int Graph::position(NodeId id) const {
    auto found = [&] {
        if (id < 0 || size_t(id) >= positions.size()) return false;
        int p = positions[size_t(id)];
        return p >= 0 && size_t(p) < nodes.size() && nodes[size_t(p)].id == id;
    };
    if (found()) return positions[size_t(id)];
    // Nodes were added, moved or dropped since.
    positions.assign(identities.size(), -1);
    for (size_t i = 0; i < nodes.size(); i++) positions[size_t(nodes[i].id)] = int(i);
    return found() ? positions[size_t(id)] : -1;
}

const Node &Graph::at(NodeId id) const {
    int p = position(id);
    if (p < 0) throw Error("internal: the graph of " + program + " has no node " + std::to_string(id));
    return nodes[size_t(p)];
}

Node &Graph::at(NodeId id) {
    return const_cast<Node &>(static_cast<const Graph *>(this)->at(id));
}

const Node *Graph::find(const std::string &name) const {
    for (auto &n : nodes)
        if (n.name == name) return &n;
    for (size_t id = 0; id < identities.size(); id++)
        if (identities[id].name == name && current(NodeId(id)) >= 0) return &at(current(NodeId(id)));
    return nullptr;
}

const Argument *Graph::find_argument(const std::string &name) const {
    for (auto &a : arguments)
        if (a.name == name) return &a;
    return nullptr;
}

std::vector<NodeId> Graph::readers(NodeId id) const {
    std::vector<NodeId> r;
    for (auto &n : nodes)
        if (contains(nodes_read(n.value), id)) r.push_back(n.id);
    return r;
}

bool Graph::is_result(NodeId id) const {
    return std::any_of(results.begin(), results.end(), [=](const Result &r) { return r.node == id; });
}

bool Graph::has(NodeId id) const {
    return position(id) >= 0;
}

NodeId Graph::current(NodeId id) const {
    for (auto it = became.find(id); it != became.end(); it = became.find(id)) id = it->second;
    return id >= 0 && has(id) ? id : -1;
}

NodeId Graph::made(Role role, NodeId of) const {
    for (auto &n : nodes)
        if (n.origin.role == role && n.origin.of == of) return n.id;
    return -1;
}

NodeId Graph::reserve(const std::string &name, const Origin &origin) {
    identities.push_back({name, origin});
    return NodeId(identities.size()) - 1;
}

std::string Graph::name_from(const Node &n) const {
    static const char *const reductions[] = {"sum", "prod", "max", "min"};
    const Origin &o = n.origin;
    auto of = [&] { return identities[size_t(o.of)].name + "."; };
    switch (o.role) {
    case Role::Own: return n.name;
    case Role::ReduceScatter: return of() + "rs";
    case Role::AllGather: return of() + "ag";
    case Role::Inner: return of() + reductions[n.reduce_op()] + (o.ordinal ? std::to_string(o.ordinal + 1) : "");
    case Role::Blocks: return of() + "blocks";
    case Role::Addend: return of() + "addend";
    case Role::NewValue: return arguments[size_t(o.ordinal)].name + ".new";
    }
    return "";
}

Node &Graph::add(Node n) {
    n.name = name_from(n);
    if (n.id < 0) n.id = reserve(n.name, n.origin);
    identities[size_t(n.id)] = {n.name, n.origin};
    nodes.push_back(std::move(n));
    return nodes.back();
}

Node Graph::communication(const Origin &origin, const Communication &op, const Node &operand) const {
    Node n;
    n.origin = origin;
    n.op = op;
    n.type = operand.type;
    for (auto &i : operand.domain)
        if (!i.reduced) n.domain.push_back(i);
    n.value = n.source = access(operand.id, operand.type, index_exprs(n.vars()));
    return n;
}

void Graph::redirect_reads(NodeId from, NodeId to, const std::vector<NodeId> &readers) {
    for (NodeId r : readers) {
        Node &n = at(r);
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

bool differs_between_ranks(const Graph &g, const Expr &e) {
    auto symbols = symbols_in(e);
    return std::any_of(symbols.begin(), symbols.end(), [&](const Symbol &s) {
        return s.kind == Symbol::Rank || (s.kind == Symbol::PlanScalar && uses_rank(g.scalars[size_t(s.number)]));
    });
}

std::string to_string(const Graph &g, const Dim &d) {
    switch (d.kind) {
    case Dim::Constant: return std::to_string(d.value);
    case Dim::Size: return g.sizes[d.value];
    case Dim::Ranks: return "ranks()";
    case Dim::Unknown: break;
    }
    return "?";
}

std::string to_string(const Graph &g, const Dims &dims) {
    return join(dims, [&](const Dim &d) { return to_string(g, d); });
}

}  // namespace stretto
