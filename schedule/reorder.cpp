#include "schedule/reorder.h"
#include <algorithm>
#include "lang/infer.h"
#include "schedule/slice.h"
#include "schedule/split.h"

namespace stretto {

namespace {

// Can the gather be moved after what reads it? "" if it can.
std::string why_not_movable(const Graph &g, const Node &gather) {
    if (gather.loads_from_ranks() && !gather.reduces_over_ranks())
        return gather.name + " is a broadcast: its operand is local, so the set would become local, not sliced.";
    const bool movable = gather.stores_to_ranks() && !is_part(g, gather);
    return movable ? "" : gather.name + " is " + kind_text(gather) + ", not an all-gather.";
}

void check_member(const Graph &g, const Node &x) {
    if (x.is_argument()) refuse(x.name + " is an argument: it is not computed.");
    if (x.is_communication()) refuse(x.name + " is " + kind_text(x) + ": only computations move across an all-gather.");
    if (!x.layout.is_replicated()) refuse(x.name + " is " + to_string(x.layout) + ", not replicated.");
    refuse_if_grouped(g, x, Reorder::name);
}

class Reordering {
    const Graph &before;
    const Node &gather;
    const NodeSet depends;  // on the gather
    const Links links;
    Graph g;
    NodeSet members, moved;  // moved: sliced now, or computed from what is

    bool has(NodeId id) const { return members.count(id) > 0; }

    // "p1(i) reads v1(i), which reads gsum(i), the result of gsum.ag; v1 is not in the set."
    std::string why_not_sliced(const Node &x) const {
        if (is_part(before, x))  // nobody wrote it: its owner is the member
            for (NodeId id : members) {
                if (!is_part(before, before.at(id)) && contains(parts_of(before, id), x.id))
                    return why_not_sliced(before.at(id));
            }
        if (!depends.count(x.id)) return left_side(x) + " does not depend on " + gather.name + ".";
        std::string path = left_side(x);
        bool first = true;
        // Along nodes that are not in the set where there is a choice: they are the reason.
        for (NodeId at = x.id; at != gather.id;) {
            NodeId next = -1;
            const Halide::Internal::Call *read = nullptr;
            for_each_access(before.at(at).source, [&](const Halide::Internal::Call *c) {
                NodeId r = accessed(c);
                if (r != gather.id && !depends.count(r)) return;
                bool better = next < 0 || (has(next) && !has(r) && r != gather.id);
                if (better) next = r, read = c;
            });
            if (!is_part(before, before.at(next))) {
                path += (first ? " reads " : ", which reads ") + access_text(before, read);
                first = false;
            }
            at = next;
        }
        NodeSet missing;
        for (NodeId id : dependencies(before, {x.id}))
            if (depends.count(id) && !has(id)) missing.insert(id);
        const Names names = mapped(without_parts(before, missing), [&](NodeId id) { return before.at(id).name; });
        path += ", the result of " + gather.name;
        if (names.empty()) return path + "; but nothing that it reads becomes a slice.";
        return path + "; " + list(names) + (names.size() == 1 ? " is" : " are") + " not in the set.";
    }

    void move(NodeId id) {
        const Node &old = before.at(id);
        if (is_part(before, old) && !depends.count(id)) return;
        inline_read(g.at(id), gather);
        try {
            infer_node(g, id);
        } catch (const Error &e) { refuse(left_side(old) + " cannot be computed on slices: " + reason_of(e)); }
        const Node &x = g.at(id);
        if (x.layout.is_sliced()) {
            moved.insert(id);
            // The block results of a full reduction are always gathered: the fold needs all of them.
            if (x.as<Blocks>()) moved.insert(add_gather(g, id, id, links.readers[size_t(id)]));
            return;
        }
        const NodeIds reads = g.reads(id);
        const bool follows = (x.as<Fold>() || !x.dimensions()) && x.layout.is_replicated() &&
                             std::any_of(reads.begin(), reads.end(), [&](NodeId r) { return moved.count(r) > 0; });
        if (!follows && x.layout.is_replicated()) refuse(why_not_sliced(old));
        if (!follows)
            refuse(left_side(old) + " would become " + to_string(x.layout) + ": it reduces over the index that is sliced.");
        moved.insert(id);
    }

public:
    Reordering(const Graph &before, NodeId gather)
        : before(before), gather(before.at(gather)), depends(dependents(before, {gather})), links(before), g(before) {
    }

    Graph all(const NodeIds &set) {
        check_set(before, set);
        for (NodeId id : set) check_member(before, before.at(id));
        members = with_parts(before, set);
        for (auto &n : before.nodes)
            if (has(n.id)) move(n.id);
        for (auto &n : before.nodes) {
            if (!moved.count(n.id) || !has(n.id) || n.as<Blocks>() || !g.at(n.id).layout.is_sliced()) continue;
            NodeIds outside;
            for (NodeId r : links.readers[size_t(n.id)])
                if (!has(r)) outside.push_back(r);
            if (!outside.empty() || g.is_result(n.id)) add_gather(g, n.id, n.id, outside);
        }
        return settle(std::move(g));
    }

    // As many as can move, each if those before it have.
    NodeIds largest() {
        NodeIds set;
        for (auto &n : before.nodes) {
            if (is_part(before, n) || !depends.count(n.id)) continue;
            const NodeSet had = members, had_moved = moved;
            std::vector<Node> changed;
            const size_t size = g.nodes.size();
            const bool moves = succeeds([&] {
                check_member(before, n);
                for (NodeId p : parts_of(before, n.id))
                    if (members.insert(p).second) changed.push_back(before.at(p)), move(p);
                members.insert(n.id);
                changed.push_back(n);
                move(n.id);
            });
            if (moves) {
                set.push_back(n.id);
                continue;
            }
            g.nodes.resize(size);  // without gathers of block results
            for (auto &old : changed) g.at(old.id) = old;
            members = had, moved = had_moved;
        }
        return set;
    }
};

// What can be said of this all-gather: the set with everything that lies between it and the gather, or else the largest one,
// and slices of members that do not depend on the gather.
Names near(const Graph &g, const Reorder &v) {
    NodeSet on = dependents(g, {v.gather}), closed;
    for (NodeId id : v.set)
        if (on.count(id)) {
            closed.insert(id);
            for (NodeId x : dependencies(g, {id}))
                if (on.count(x)) closed.insert(x);
        }
    std::vector<Reorder> legal = legal_of<Reorder>(g, {{v.gather, without_parts(g, closed)}});
    if (legal.empty()) legal = with_subject_of(g, v, Reorder::moves(g));
    std::vector<Slice> slices;
    for (NodeId id : v.set)
        if (!on.count(id)) slices.push_back({id, 0});
    Names calls = as_code(g, legal);
    for (auto &c : as_code(g, legal_of(g, slices))) calls.push_back(c);
    return calls;
}

}  // namespace

Graph apply(const Graph &before, const Reorder &v) {
    const Node &gather = before.at(v.gather);
    std::string why = why_not_movable(before, gather);
    if (!why.empty()) refuse(why);
    refuse_if_grouped(before, gather, Reorder::name);
    return Reordering(before, v.gather).all(v.set);
}

std::vector<Reorder> Reorder::moves(const Graph &g) {
    std::vector<Reorder> all;
    for (auto &n : g.nodes)
        if (why_not_movable(g, n).empty()) all.push_back({n.id, Reordering(g, n.id).largest()});
    return legal_of(g, all);
}

Names instead(const Graph &g, const Reorder &v) {
    Names calls;
    if (why_not_movable(g, g.at(v.gather)).empty()) calls = near(g, v);
    if (!calls.empty() || !Reorder::moves(g).empty()) return calls;
    // None yet: a split makes one, of this tensor if it can be.
    const std::vector<Split> splits = Split::moves(g), own = with_subject_of(g, Split{v.gather, 0}, splits);
    return as_code(g, own.empty() ? splits : own);
}

}  // namespace stretto
