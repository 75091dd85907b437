#include "lower/addends.h"
#include <algorithm>
#include "lang/infer.h"
#include "lower/lowering.h"

namespace stretto {

namespace {

class LocalScalars : public Halide::Internal::IRVisitor {
    const Graph &g;
    using IRVisitor::visit;
    void visit(const Halide::Internal::Variable *v) override {
        Symbol s = symbol_of(Expr(v));
        found |= s.kind == Symbol::Rank || (s.kind == Symbol::PlanScalar && uses_rank(g.scalars[s.number]));
    }

public:
    bool found = false;
    LocalScalars(const Graph &g, const Expr &e) : g(g) {
        e.accept(this);
    }
};

// Can another rank compute n's value from one load of this rank's memory? (Not if it depends on which rank computes it.)
bool reads_one_tensor(const Graph &g, const Node &n) {
    auto reads = reads_of(g, n);
    for (auto &r : reads)
        if (r.node != reads[0].node || !r.same_element) return false;
    return !reads.empty() && !LocalScalars(g, n.value).found;
}

Expr written_out(const Graph &g, const Expr &e, NodeId producer, Expr Node::*which) {
    const Node &p = g.at(producer);
    return map_accesses(e, [&](const Halide::Internal::Call *c) {
        return accessed(c) == producer ? substitute_indices(p.*which, p.vars(), indices_of(c)) : Expr(c);
    });
}

}  // namespace

Graph settle_addends(Graph g) {
    std::vector<NodeId> reduces;
    for (auto &n : g.nodes)
        if (n.reduces_over_ranks()) reduces.push_back(n.id);
    for (NodeId id : reduces) {
        for (;;) {  // write out producers that are chains over one tensor
            Node &n = g.at(id);
            auto reads = reads_of(g, n);
            if (reads.empty() || !reads_one_tensor(g, n)) break;
            const Node &p = g.at(reads[0].node);
            bool narrow = p.as<Map>() && p.layout.is_partial() && !g.is_result(p.id) && reads_one_tensor(g, p) &&
                          reads_of(g, p).size() == 1 && reads.size() == 1 &&
                          g.at(reads_of(g, p)[0].node).type.bits() <= p.type.bits();
            if (!narrow) break;
            NodeId producer = p.id;
            Expr value = written_out(g, n.value, producer, &Node::value);
            Expr source = written_out(g, n.source, producer, &Node::source);
            Node &m = g.at(id);
            m.value = value;
            m.source = source;
        }
        const Node n = g.at(id);
        if (reads_one_tensor(g, n)) continue;
        Node addend;
        addend.origin = {Role::Addend, id, 0};
        addend.op = Map{};
        addend.type = n.value.type();
        addend.accumulator = accumulator_type(addend.type);
        addend.domain = n.domain;
        addend.source = n.source;
        addend.value = n.value;
        NodeId a = g.add(addend).id;
        Node &m = g.at(id);
        m.value = m.source = access(a, addend.type, index_exprs(n.vars()));
    }
    g.tidy();
    infer(g);
    return g;
}

}  // namespace stretto
