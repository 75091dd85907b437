#include "schedule/reorder.h"
#include <algorithm>
#include "lang/infer.h"
#include "lang/print.h"
#include "schedule/refuse.h"
#include "schedule/slice.h"
#include "schedule/split.h"

namespace stretto {

namespace {

// "p1(i) reads v1(i), which reads gsum(i), the result of gsum.ag; v1 is not in the set."
std::string why_not_sliced(const Graph &g, const Node &x, const Node &gather, const NodeSet &in) {
    if (is_part(g, x))  // nobody wrote it: its owner is the member
        for (NodeId id : in) {
            NodeIds parts = parts_of(g, id);
            if (!is_part(g, g.at(id)) && std::count(parts.begin(), parts.end(), x.id))
                return why_not_sliced(g, g.at(id), gather, in);
        }
    if (!depends_on(g, x.id, gather.id)) return left_side(g, x) + " does not depend on " + gather.name + ".";
    std::string path = left_side(g, x);
    bool first = true;
    // Along nodes that are not in the set where there is a choice: they are the reason.
    for (NodeId at = x.id; at != gather.id;) {
        NodeId next = -1;
        const Halide::Internal::Call *read = nullptr;
        for_each_access(g.at(at).source, [&](const Halide::Internal::Call *c) {
            NodeId r = accessed(c);
            if (!depends_on(g, r, gather.id)) return;
            bool better = next < 0 || (in.count(next) && !in.count(r) && r != gather.id);
            if (better) next = r, read = c;
        });
        if (!is_part(g, g.at(next))) {
            path += (first ? " reads " : ", which reads ") + access_text(g, read);
            first = false;
        }
        at = next;
    }
    NodeIds missing;
    for (NodeId id : between(g, x.id, gather.id))
        if (!in.count(id)) missing.push_back(id);
    NodeIds named = without_parts(g, NodeSet(missing.begin(), missing.end()));
    path += ", the result of " + gather.name;
    if (named.empty()) return path + "; but nothing that it reads becomes a slice.";
    std::vector<std::string> names;
    for (NodeId id : named) names.push_back(g.at(id).name);
    return path + "; " + list(names) + (names.size() == 1 ? " is" : " are") + " not in the set.";
}

void check_members(const Graph &g, const Reorder &v) {
    if (v.set.empty()) refuse("The set is empty.");
    NodeSet seen;
    for (NodeId id : v.set) {
        const Node &x = g.at(id);
        if (!seen.insert(id).second) refuse(x.name + " is in the set twice.");
        if (x.is_argument()) refuse(x.name + " is an argument: it is not computed.");
        if (x.is_communication()) refuse(x.name + " is " + kind_of(x) + ": only computations move across an all-gather.");
        if (!x.layout.is_replicated()) refuse(x.name + " is " + to_string(x.layout) + ", not replicated.");
        refuse_if_grouped(g, x, "reorder");
    }
}

Graph rewrite(const Graph &before, const Reorder &v) {
    const Node &gather = before.at(v.gather);
    if (auto *c = gather.as<Communication>(); c && c->from.kind == From::Rank)
        refuse(gather.name + " is a broadcast: its operand is local, so the set would become local, not sliced.");
    if (!gather.stores_to_ranks() || is_part(before, gather))
        refuse(gather.name + " is " + kind_of(gather) + ", not an all-gather.");
    refuse_if_grouped(before, gather, "reorder");
    check_members(before, v);

    Graph g = before;
    NodeSet in = with_parts(before, v.set), changed;
    inline_reads(g, gather, [&](const Node &n) { return in.count(n.id) > 0; });
    for (auto &old : before.nodes) {
        NodeId id = old.id;
        if (!in.count(id)) continue;
        try {
            infer_node(g, id);
        } catch (const Error &e) { refuse(left_side(before, old) + " cannot be computed on slices: " + reason_of(e)); }
        const Node &x = g.at(id);
        if (!x.layout.is_sliced()) {
            NodeIds reads = g.reads(id);
            bool follows = (x.as<Fold>() || !x.dimensions()) && x.layout.is_replicated() &&
                           std::any_of(reads.begin(), reads.end(), [&](NodeId r) { return changed.count(r) > 0; });
            if (!follows && x.layout.is_replicated()) refuse(why_not_sliced(before, old, gather, in));
            if (!follows)
                refuse(left_side(before, old) + " would become " + to_string(x.layout) +
                       ": it reduces over the index that is sliced.");
            changed.insert(id);
            continue;
        }
        changed.insert(id);
        // The block results of a full reduction are always gathered: the fold needs all of them.
        bool blocks = x.as<Blocks>();
        auto outside = [&](const Node &r) { return blocks || !in.count(r.id); };
        NodeIds readers = g.readers(id);
        if (g.is_result(id) || std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return outside(g.at(r)); })) {
            NodeId ag = add_gather(g, id, x.layout.first_sliced(), outside);
            if (blocks) changed.insert(ag);
        }
    }
    return settle(std::move(g));
}

bool is_legal(const Graph &g, const Reorder &v) {
    return succeeds([&] { rewrite(g, v); });
}

// The set with everything that lies between it and the gather, without what does not depend on the gather.
NodeIds closed(const Graph &g, const Reorder &v) {
    NodeSet set;
    for (NodeId id : v.set)
        if (depends_on(g, id, v.gather)) {
            set.insert(id);
            for (NodeId x : between(g, id, v.gather)) set.insert(x);
        }
    return without_parts(g, set);
}

std::vector<std::string> alternatives(const Graph &g, const Reorder &v) {
    std::vector<std::string> legal;
    auto offer = [&](const Reorder &r) { legal.push_back("s." + to_string(g, r)); };
    if (g.at(v.gather).stores_to_ranks()) {
        Reorder r{v.gather, closed(g, v)};
        if (!is_legal(g, r)) r.set = largest_reorder(g, v.gather);
        if (!r.set.empty()) offer(r);
        // A member that depends on no gather can be computed on slices all the same.
        for (NodeId id : v.set)
            if (!depends_on(g, id, v.gather)) {
                Slice slice{id, 0};
                if (is_legal(g, slice)) legal.push_back("s." + to_string(g, slice));
            }
        if (!legal.empty()) return legal;
    }
    for (auto &n : g.nodes)
        if (n.stores_to_ranks() && !is_part(g, n) && n.id != v.gather) {
            NodeIds set = largest_reorder(g, n.id);
            if (!set.empty()) offer({n.id, set});
        }
    // None yet: a split makes one, of this tensor if it can be.
    if (legal.empty()) legal = legal_splits(g, v.gather);
    return legal.empty() ? legal_splits(g) : legal;
}

}  // namespace

NodeIds largest_reorder(const Graph &g, NodeId gather) {
    Reorder r{gather, {}};
    for (auto &n : g.nodes) {
        if (n.is_argument() || is_part(g, n) || !depends_on(g, n.id, gather)) continue;
        r.set.push_back(n.id);
        if (!is_legal(g, r)) r.set.pop_back();
    }
    return r.set;
}

Graph apply(const Graph &before, const Reorder &v) {
    try {
        return rewrite(before, v);
    } catch (const Error &e) {
        refuse(reason_of(e), alternatives(before, v),
               "no reorder; no all-gather here has a set that can move, and no all-reduce can be split.");
    }
}

std::string to_string(const Graph &g, const Reorder &v, const Naming &name) {
    return "reorder(" + name(g.at(v.gather)) + ", {" + names_of(g, v.set, name) + "})";
}

}  // namespace stretto
