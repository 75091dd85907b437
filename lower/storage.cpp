#include "lower/storage.h"
#include <algorithm>
#include "lang/infer.h"
#include "lower/stages.h"

namespace stretto {

namespace {

bool same_placement(const Layout &a, const Layout &b) {
    return a.dims == b.dims;
}

// May node v write argument a's memory while the stages run?
bool may_store_into(const Lowering &l, const Argument &a, const Node &v) {
    const Graph &g = l.graph;
    if (v.is_argument() || !same_placement(a.layout, v.layout)) return false;
    int users = 0;
    for (auto &r : g.results) users += r.node == v.id;
    if (users > 1 && &g.arguments[std::find_if(g.results.begin(), g.results.end(), [&](auto &r) {
                                      return r.node == v.id;
                                  })->argument] != &a)
        return false;  // the first argument that takes the value has it
    if (a.node < 0) return true;
    int writer = l.stage_of.at(v.id);
    for (auto &n : g.nodes) {
        if (n.is_argument()) continue;
        for (auto &r : reads_of(g, n)) {
            if (r.node != a.node) continue;
            int reader = l.stage_of.at(n.id);
            bool own_element = r.same_element && !n.loads_from_ranks() && l.stages[reader].kind == plan::StageKind::Sweep;
            if (reader > writer || (reader == writer && !own_element)) return false;
        }
    }
    return true;
}

bool add_copies(Lowering &l) {
    Graph &g = l.graph;
    std::vector<size_t> needed;
    for (size_t i = 0; i < g.results.size(); i++)
        if (!may_store_into(l, g.arguments[g.results[i].argument], g.at(g.results[i].node))) needed.push_back(i);
    for (size_t i : needed) {
        const Node v = g.at(g.results[i].node);
        Node copy;
        copy.origin = {Role::Store, -1, g.results[i].argument};
        copy.op = Map{};
        copy.directives.last = true;  // after every reader of the argument's value at entry
        copy.type = v.type;
        copy.accumulator = accumulator_type(v.type);
        for (size_t d = 0; d < v.dimensions(); d++)
            copy.domain.push_back({default_index(int(d)), v.domain[d].extent, {}, false});
        copy.source = copy.value = access(v.id, v.type, index_exprs(copy.vars()));
        NodeId id = g.add(copy).id;
        infer_node(g, id);
        g.results[i].node = id;
    }
    return !needed.empty();
}

}  // namespace

void assign_storage(Lowering &l) {
    if (add_copies(l)) assign_stages(l);
    Graph &g = l.graph;
    l.buffers.clear();
    l.buffer_of.clear();
    std::vector<int> argument_buffer(g.arguments.size(), -1);
    for (size_t i = 0; i < g.arguments.size(); i++) {
        const Argument &a = g.arguments[i];
        if (a.scalar) continue;
        argument_buffer[i] = int(l.buffers.size());
        l.buffers.push_back({a.name, a.type, a.dims, a.layout.first_sliced(), ArgumentId(i), false});
        if (a.node >= 0) l.buffer_of[a.node] = argument_buffer[i];
    }
    for (auto &n : g.nodes) {
        if (n.is_argument() || !is_stored(l, n)) continue;
        auto result = std::find_if(g.results.begin(), g.results.end(), [&](auto &r) { return r.node == n.id; });
        if (result != g.results.end()) {
            l.buffer_of[n.id] = argument_buffer[result->argument];
            continue;
        }
        l.buffer_of[n.id] = int(l.buffers.size());
        l.buffers.push_back({n.name, n.type, n.dims(), n.layout.first_sliced(), -1, false});
    }
    for (auto &s : l.stages) {
        s.stores.clear();
        for (NodeId id : s.nodes)
            if (l.buffer_of.count(id)) s.stores.push_back({id, l.buffer_of[id], g.at(id).stores_to_ranks(), false});
        for (auto &store : s.stores) {
            for (NodeId id : s.nodes)
                for (auto &r : reads_of(g, g.at(id)))
                    if (l.buffer_of.count(r.node) && l.buffer_of[r.node] == store.buffer && r.node != store.node &&
                        !g.at(id).loads_from_ranks())
                        store.in_place = true;
            if (store.all || s.collective) l.buffers[store.buffer].peers = true;
        }
        for (NodeId id : s.nodes)
            if (g.at(id).loads_from_ranks())
                for (auto &r : reads_of(g, g.at(id))) l.buffers[l.buffer_of.at(r.node)].peers = true;
    }
}

}  // namespace stretto
