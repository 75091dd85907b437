#include "lower/stages.h"
#include <algorithm>

namespace stretto {

namespace {

using plan::Range;
using plan::StageKind;

StageKind kind_of(const Node &n) {
    if (n.as<Reduction>()) return StageKind::Contract;
    if (n.as<Blocks>()) return StageKind::BlockSum;
    if (n.as<Fold>()) return StageKind::Fold;
    return StageKind::Sweep;
}

Stage new_stage(const Node &n) {
    Stage s;
    s.kind = kind_of(n);
    s.group = n.directives.group;
    s.communication = n.is_communication() && s.group < 0;
    if (s.kind == StageKind::Fold) return s;
    if (s.kind == StageKind::BlockSum) {
        s.loops = n.rdims();
        s.ranges.assign(s.loops.size(), Range::Whole);
        bool own = n.layout.is_sliced();
        s.ranges[n.as<Blocks>()->split] = own ? Range::OwnBlock : Range::EachBlock;
        return s;
    }
    s.loops = n.dims();
    s.outputs = int(n.dimensions());
    s.ranges.assign(s.loops.size(), Range::Whole);
    for (size_t d = 0; d < n.domain.size(); d++) {
        const Index &i = n.domain[d];
        if (i.reduced && s.kind != StageKind::Contract) continue;
        if (i.reduced) s.loops.push_back(i.extent), s.ranges.push_back(Range::Whole);
        if (i.axes.empty()) continue;
        s.ranges[d] = Range::Slice;
        if (!i.reduced) s.slice = int(d);
    }
    if (auto *c = n.as<Communication>(); c && c->reduce && !c->to_dim && s.communication && !s.loops.empty()) {
        s.collective = true;
        s.algorithm = c->algorithm;
    }
    return s;
}

bool may_join(const Stage &s, const Stage &fresh) {
    return s.kind == StageKind::Sweep && fresh.kind == StageKind::Sweep && s.group == fresh.group && !s.communication &&
           !fresh.communication && s.loops == fresh.loops && s.slice == fresh.slice;
}

}  // namespace

void assign_stages(Lowering &l) {
    const Graph &g = l.graph;
    l.stages.clear();
    l.stage_of.clear();
    int last_begins = -1;  // the first stage of nodes that come last
    for (auto &n : g.nodes) {
        if (n.is_argument()) continue;
        Stage fresh = new_stage(n);
        int first = 0;
        for (auto &r : reads_of(g, n)) {
            auto it = l.stage_of.find(r.node);
            if (it == l.stage_of.end()) continue;
            // A value travels within a sweep only to its own element, and not through another rank's memory.
            bool stays = fresh.kind == StageKind::Sweep && r.same_element && !n.loads_from_ranks() &&
                         !g.at(r.node).stores_to_ranks();
            first = std::max(first, it->second + (stays ? 0 : 1));
        }
        if (n.directives.last) first = last_begins < 0 ? last_begins = int(l.stages.size()) : std::max(first, last_begins);
        int at = first;
        while (at < int(l.stages.size()) && !may_join(l.stages[at], fresh)) at++;
        if (at == int(l.stages.size())) l.stages.push_back(fresh);
        l.stages[at].nodes.push_back(n.id);
        l.stages[at].vectorize = std::max(l.stages[at].vectorize, n.directives.vectorize);
        l.stage_of[n.id] = at;
    }
}

bool is_stored(const Lowering &l, const Node &n) {
    if (l.graph.is_result(n.id)) return true;
    for (NodeId r : l.graph.readers(n.id))
        if (l.stage_of.at(r) != l.stage_of.at(n.id)) return true;
    return false;
}

}  // namespace stretto
