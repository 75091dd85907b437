#include "schedule/sweep.h"
#include <algorithm>
#include <optional>
#include "lang/print.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

struct Loop {
    Dims extents;
    int slice = -1;
    bool operator==(const Loop &o) const {
        return extents == o.extents && slice == o.slice;
    }
};

class Sweep {
    const Graph &g;
    const NodeSet &set;

    bool has(NodeId id) const {
        return set.count(id) > 0;
    }

    static Names own_element(const Node &n) {
        return n.as<Blocks>() ? n.rvars() : n.vars();
    }

    bool exchanges_blocks(const Node &n) const {
        return n.stores_to_ranks() && is_part(g, n);
    }

    // A pending value that only reductions of the set use: each computes it as it loads the addend.
    bool is_addend(const Node &n) const {
        if (!n.as<Map>() || !n.layout.is_partial() || g.is_result(n.id)) return false;
        NodeIds readers = g.readers(n.id);
        return std::all_of(readers.begin(), readers.end(), [&](NodeId r) {
            const Node &x = g.at(r);
            return has(r) && (x.reduces_over_ranks() || is_addend(x));
        });
    }

    std::optional<Loop> loop_of(const Node &n) const {
        if (n.as<Fold>() || exchanges_blocks(n) || is_addend(n) || (n.as<Map>() && !n.dimensions())) return {};
        Loop loop{n.as<Blocks>() ? n.rdims() : n.dims(), -1};
        const size_t first = n.as<Blocks>() ? 1 : 0;
        for (size_t d = 0; d < loop.extents.size(); d++)
            if (!n.domain[first + d].axes.empty()) loop.slice = int(d);
        return loop;
    }

    std::string text(const Loop &l) const {
        if (l.extents.empty()) return "nothing (it has no dimension)";
        std::string s;
        for (auto &d : l.extents) s += (s.empty() ? "" : ", ") + to_string(g, d);
        s = "[" + s + "]";
        return l.slice < 0 ? "all of " + s : "the slice of dimension " + std::to_string(l.slice) + " of " + s;
    }

    // The first read of x in n, as code.
    std::string read_text(const Node &n, NodeId x) const {
        std::string s;
        for_each_access(n.source, [&](const Halide::Internal::Call *c) {
            if (s.empty() && accessed(c) == x) s = access_text(g, c);
        });
        return s.empty() ? g.at(x).name : s;
    }
    std::string reads_text(const Node &n, NodeId x) const {
        return (n.is_communication() ? n.name : left_side(g, n)) + " reads " + read_text(n, x);
    }

    std::string members_reason() const {
        for (NodeId id : set) {
            const Node &n = g.at(id);
            if (n.is_argument()) return n.name + " is an argument: it is there before any sweep.";
            if (set.size() > 1 && n.as<Reduction>())
                return left_side(g, n) + " is a contraction: its kernel is a stage of its own.";
            if (auto *c = n.as<Communication>(); c && set.size() > 1 && c->algorithm == Algorithm::TwoPhase)
                return n.name + " is an all-reduce with the algorithm TwoPhase, which is two sweeps by itself.";
        }
        return "";
    }

    std::string loops_reason() const {
        const Node *first = nullptr;
        for (auto &n : g.nodes) {
            if (!has(n.id)) continue;
            auto loop = loop_of(n);
            if (!loop) continue;
            if (!first)
                first = &n;
            else if (!(*loop == *loop_of(*first)))
                return first->name + " runs over " + text(*loop_of(*first)) + ", " + n.name + " over " + text(*loop) +
                       ": one sweep has one loop.";
        }
        return "";
    }

    std::string reads_reason(const Node &n) const {
        for (NodeId r : g.reads(n.id)) {
            if (!has(r)) continue;
            const Node &x = g.at(r);
            if (x.stores_to_ranks() && !exchanges_blocks(x))
                return reads_text(n, r) + ", the result of " + x.name +
                       " in the same set: an all-gather is a store at the end of a sweep, and other ranks' slices are "
                       "complete only after it.";
            if (n.loads_from_ranks() && !x.layout.is_replicated() && !is_addend(x))
                return n.name + " loads " + read_text(n, r) + " of other ranks, and " + x.name +
                       " is in the same set: it has to be complete on all ranks before the sweep.";
            // Another loop has a message of its own.
            bool one_loop = is_addend(x) || (loop_of(x) && loop_of(n) && *loop_of(x) == *loop_of(n));
            if (x.as<Blocks>() || exchanges_blocks(x) || !one_loop) continue;
            for (auto &indices : reads_of(n, r))
                if (!are_indices(indices, own_element(n))) {
                    std::vector<std::string> at;
                    for (auto &i : indices) at.push_back(to_string(g, i));
                    return left_side(g, n) + " reads " + x.name + "(" + join(at) + "), another element than its own, of " +
                           x.name + " in the same set: that element may not be computed yet.";
                }
        }
        return "";
    }

    std::string dependent_loads_reason(const Node &n) const {
        if (!n.loads_from_ranks()) return "";
        for (NodeId id : set) {
            const Node &x = g.at(id);
            if (id == n.id || !x.is_communication() || exchanges_blocks(x) || !depends_on(g, n.id, id)) continue;
            return n.name + " loads what depends on " + x.name +
                   " of the same set: two communications, one after the other, are two sweeps.";
        }
        return "";
    }

    // A path of reads that leaves the set and comes back; it may pass through other Groups, which are computed as a whole.
    std::string convexity_reason() const {
        for (auto &n : g.nodes) {
            if (!has(n.id)) continue;
            for (NodeId r : g.reads(n.id)) {
                if (has(r)) continue;
                std::vector<std::string> path;
                NodeSet seen;
                if (returns(r, path, seen))
                    return reads_text(n, r) + path_text(path) + ": the path leaves the set and comes back.";
            }
        }
        return "";
    }
    static std::string path_text(const std::vector<std::string> &path) {
        std::string s;
        for (auto &p : path) s += p;
        return s;
    }
    bool returns(NodeId id, std::vector<std::string> &path, NodeSet &seen) const {
        if (!seen.insert(id).second) return false;
        const Node &n = g.at(id);
        for (NodeId r : g.reads(id)) {
            // Parts of a full reduction have no name that the user wrote.
            path.push_back(is_part(g, g.at(r)) ? "" : ", which reads " + read_text(n, r));
            if (has(r) || returns(r, path, seen)) return true;
            path.pop_back();
        }
        if (n.directives.group < 0) return false;
        for (NodeId other : group_members(g, n.directives.group)) {
            if (other == id) continue;
            path.push_back(", which is in one Group with " + g.at(other).name);
            if (has(other) || returns(other, path, seen)) return true;
            path.pop_back();
        }
        return false;
    }

public:
    Sweep(const Graph &g, const NodeSet &set) : g(g), set(set) {
    }

    std::string reason() const {
        std::string why = members_reason();
        // Loops come after reads: the more telling reason first.
        for (auto check : {&Sweep::reads_reason, &Sweep::dependent_loads_reason})
            for (auto &n : g.nodes)
                if (why.empty() && has(n.id)) why = (this->*check)(n);
        if (why.empty()) why = convexity_reason();
        if (why.empty()) why = loops_reason();
        return why;
    }

    int count() const {
        std::map<NodeId, int> level;
        int last = 0;
        for (auto &n : g.nodes) {
            if (!has(n.id)) continue;
            int l = 0;
            for (NodeId r : g.reads(n.id))
                if (has(r)) l = std::max(l, level[r]);
            // The result of a full reduction is there after the sweep that made its block results.
            if (n.as<Fold>()) l++;
            level[n.id] = l;
            if (loop_of(n)) last = std::max(last, l);
        }
        return last + 1;
    }
};

}  // namespace

std::string why_no_group(const Graph &g, const NodeSet &set) {
    return Sweep(g, set).reason();
}

int count_sweeps(const Graph &g, const NodeSet &set) {
    return Sweep(g, set).count();
}

NodeIds group_members(const Graph &g, int group) {
    return nodes_where(g, [=](const Node &n) { return n.directives.group == group; });
}

void check_groups(const Graph &g) {
    for (auto &group : groups_of(g)) {
        NodeIds members = group_members(g, group.id);
        std::string why = why_no_group(g, NodeSet(members.begin(), members.end()));
        if (!why.empty()) refuse("Group " + std::to_string(group.id) + " would no longer be one: " + why);
    }
}

std::vector<NodeSet> legal_groups(const Graph &g, const NodeSet &candidates) {
    Graph h = g;
    std::vector<NodeSet> sets;
    std::map<NodeId, int> set_of, position;
    for (auto &n : g.nodes) position[n.id] = int(position.size());
    for (auto &n : g.nodes) {
        if (!candidates.count(n.id)) continue;
        NodeIds producers = g.reads(n.id);
        auto later = [&](NodeId a, NodeId b) { return position[a] > position[b]; };
        std::sort(producers.begin(), producers.end(), later);
        int chosen = -1;
        bool first = true;
        for (NodeId r : producers) {
            if (chosen >= 0 || !set_of.count(r)) continue;
            first = false;
            NodeSet larger = sets[set_of[r]];
            larger.insert(n.id);
            if (why_no_group(h, larger).empty()) chosen = set_of[r];
        }
        // A value without a dimension that needs no set is there before all of them: it opens none.
        if (first && !n.dimensions() && !n.is_communication()) continue;
        if (chosen < 0) {
            chosen = int(sets.size());
            sets.push_back({});
        }
        sets[chosen].insert(n.id);
        set_of[n.id] = chosen;
        h.at(n.id).directives.group = g.next_group + chosen;
    }
    return sets;
}

std::vector<Group> groups_of(const Graph &g) {
    std::map<int, NodeSet> sets;
    for (auto &n : g.nodes)
        if (n.directives.group >= 0) sets[n.directives.group].insert(n.id);
    std::vector<Group> groups;
    for (auto &[id, set] : sets) {
        Group group{id, {}, count_sweeps(g, set)};
        for (NodeId n : without_parts(g, set)) group.stages.push_back(g.at(n).name);
        groups.push_back(group);
    }
    return groups;
}

std::string to_string(const Group &group) {
    return "Group " + std::to_string(group.id) + ", " + std::to_string(group.sweeps) +
           (group.sweeps == 1 ? " sweep: {" : " sweeps: {") + join(group.stages) + "}";
}

}  // namespace stretto
