#include "schedule/sweep.h"
#include <algorithm>
#include "schedule/partition.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

// Has no loop: a value without a dimension, the result of a full reduction and the exchange before it.
bool is_small(const Graph &g, const Node &n) {
    return n.as<Fold>() || exchanges_blocks(g, n) || (n.as<Map>() && !n.dimensions());
}

// What the checks of many sets look up in one graph.
struct Facts {
    const Graph &g;
    Links links;
    std::vector<int> position, loop;        // by id; loops are numbered, -1: none
    std::vector<std::vector<Index>> loops;  // by number
    std::vector<int> group;                 // by id
    std::map<int, NodeIds> members;         // of Groups, in the order of the graph

    explicit Facts(const Graph &g)
        : g(g), links(g), position(g.identities.size()), loop(position.size(), -1), group(position.size(), -1) {
        std::map<LoopKey, int> numbers;
        for (size_t i = 0; i < g.nodes.size(); i++) {
            const Node &n = g.nodes[i];
            position[size_t(n.id)] = int(i);
            if (n.directives.group >= 0) add(n.id, n.directives.group);
            if (is_small(g, n)) continue;
            auto [at, fresh] = numbers.insert({loop_key(n), int(loops.size())});
            if (fresh) loops.push_back(loops_of(n));
            loop[size_t(n.id)] = at->second;
        }
    }
    void add(NodeId id, int to) {
        group[size_t(id)] = to;
        members[to].push_back(id);
    }
};

// Why a set of nodes is no Group: each rule gives a reason, "" where it holds.
class Check {
    const Facts &facts;
    const Graph &g;
    const Links &links;
    const NodeIds &set;  // in the order of the graph
    std::vector<char> in;

    bool has(NodeId id) const { return in[size_t(id)] != 0; }

    // A pending value that only reductions of the set use: each computes it as it loads the addend.
    bool is_addend(const Node &n) const {
        if (!n.as<Map>() || !n.layout.is_partial() || links.is_result[size_t(n.id)]) return false;
        const NodeIds &readers = links.readers[size_t(n.id)];
        return std::all_of(readers.begin(), readers.end(), [&](NodeId r) {
            return has(r) && (g.at(r).reduces_over_ranks() || is_addend(g.at(r)));
        });
    }

    // A shift of what the set computes: a store to another rank at the end of the sweep.
    bool is_pushed(const Node &n) const { return n.is_shift() && has(links.reads[size_t(n.id)].at(0)); }

    int loop_of(const Node &n) const { return is_addend(n) ? -1 : facts.loop[size_t(n.id)]; }

    std::string loop_text(const Node &n) const {
        const std::vector<Index> &loops = facts.loops[size_t(facts.loop[size_t(n.id)])];
        if (loops.empty()) return "nothing (it has no dimension)";
        std::string which = "all";
        for (size_t d = 0; d < loops.size(); d++)
            if (!loops[d].axes.empty()) which = "the slice of dimension " + std::to_string(d);
        return which + " of [" + join(loops, [&](const Index &i) { return to_string(g, i.extent); }) + "]";
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
        return (n.is_communication() ? n.name : left_side(n)) + " reads " + read_text(n, x);
    }

    std::string not_a_member(const Node &n) const {
        if (n.is_argument()) return n.name + " is an argument: it is there before any sweep.";
        if (set.size() > 1 && n.as<Reduction>())
            return left_side(n) + " is a contraction: its kernel is a stage of its own.";
        if (n.is_all_reduce() && std::get<Communication>(n.op).algorithm == Algorithm::TwoPhase)
            return n.name + " is an all-reduce with the algorithm TwoPhase, which is two sweeps by itself.";
        return "";
    }

    std::string reads_another_element(const Node &n) const {
        const Names own = mapped(loops_of(n), [](const Index &i) { return i.name; });
        for (NodeId r : links.reads[size_t(n.id)]) {
            if (!has(r)) continue;
            const Node &x = g.at(r);
            if ((x.stores_to_ranks() || is_pushed(x)) && !exchanges_blocks(g, x))
                return reads_text(n, r) + ", the result of " + x.name + " in the same set: " + kind_text(x) +
                       " is a store at the end of a sweep, and other ranks' " +
                       (x.stores_to_ranks() ? "slices" : "values") + " are complete only after it.";
            if (n.loads_from_ranks() && !is_pushed(n) && !x.layout.is_replicated() && !is_addend(x))
                return n.name + " loads " + read_text(n, r) + " of other ranks, and " + x.name +
                       " is in the same set: it has to be complete on all ranks before the sweep.";
            // Another loop has a message of its own.
            bool one_loop = is_addend(x) || (loop_of(x) >= 0 && loop_of(x) == loop_of(n));
            if (x.as<Blocks>() || exchanges_blocks(g, x) || !one_loop) continue;
            for (auto &indices : reads_of(n, r)) {
                if (are_indices(indices, own)) continue;
                return left_side(n) + " reads " + element_text(g, x.name, indices) + ", another element than its own, of " +
                       x.name + " in the same set: that element may not be computed yet.";
            }
        }
        return "";
    }

    std::string loads_too_early(const Node &n) const {
        if (!n.loads_from_ranks() || is_pushed(n)) return "";
        const NodeSet needed = dependencies(g, {n.id});
        for (NodeId id : set) {
            const Node &x = g.at(id);
            if (needed.count(id) && x.is_communication() && !exchanges_blocks(g, x))
                return n.name + " loads what depends on " + x.name +
                       " of the same set: two communications, one after the other, are two sweeps.";
        }
        return "";
    }

    // A step of a path of reads: `to` is read by `from`, or in one Group with it.
    struct Step {
        NodeId from, to;
        bool in_group;
    };
    std::vector<Step> path;
    std::vector<char> seen;

    bool returns(NodeId id) {
        if (seen[size_t(id)]) return false;
        seen[size_t(id)] = 1;
        auto along = [&](NodeId to, bool in_group) {
            path.push_back({id, to, in_group});
            if (has(to) || returns(to)) return true;
            path.pop_back();
            return false;
        };
        for (NodeId r : links.reads[size_t(id)])
            if (along(r, false)) return true;
        if (facts.group[size_t(id)] >= 0)
            for (NodeId other : facts.members.at(facts.group[size_t(id)]))
                if (other != id && along(other, true)) return true;
        return false;
    }
    std::string path_text() const {
        std::string s;
        for (auto &step : path)
            if (step.in_group)
                s += ", which is in one Group with " + g.at(step.to).name;
            else if (!is_part(g, g.at(step.to)))  // parts have no name that the user wrote
                s += ", which reads " + read_text(g.at(step.from), step.to);
        return s;
    }
    // No path of reads leaves the set and comes back; it may pass through other Groups, which are computed as a whole.
    std::string leaves_and_returns() {
        seen.assign(in.size(), 0);
        for (NodeId id : set)
            for (NodeId r : links.reads[size_t(id)])
                if (!has(r) && returns(r))
                    return reads_text(g.at(id), r) + path_text() + ": the path leaves the set and comes back.";
        return "";
    }

    std::string has_two_loops() const {
        const Node *first = nullptr;
        for (NodeId id : set) {
            const Node &n = g.at(id);
            if (loop_of(n) < 0) continue;
            if (first && loop_of(n) != loop_of(*first))
                return first->name + " runs over " + loop_text(*first) + ", " + n.name + " over " + loop_text(n) +
                       ": one sweep has one loop.";
            if (!first) first = &n;
        }
        return "";
    }

public:
    Check(const Facts &facts, const NodeIds &set)
        : facts(facts), g(facts.g), links(facts.links), set(set), in(g.identities.size()) {
        for (NodeId id : set) in[size_t(id)] = 1;
    }
    // `fresh`: the members without which the set is known to be legal, which no other member reads.
    std::string reason(const NodeIds &fresh) {
        std::string why;  // the more telling reason first
        for (auto rule : {&Check::not_a_member, &Check::reads_another_element, &Check::loads_too_early})
            for (NodeId id : rule == &Check::not_a_member ? set : fresh)
                if (why.empty()) why = (this->*rule)(g.at(id));
        if (why.empty()) why = leaves_and_returns();
        return why.empty() ? has_two_loops() : why;
    }
};

}  // namespace

std::string why_no_group(const Graph &g, const NodeSet &set) {
    const Facts facts(g);
    const NodeIds ids = nodes_where(g, [&](const Node &n) { return set.count(n.id) > 0; });
    return Check(facts, ids).reason(ids);
}

NodeIds group_members(const Graph &g, int group) {
    return nodes_where(g, [=](const Node &n) { return n.directives.group == group; });
}

void make_group(Graph &g, const NodeSet &set) {
    for (NodeId id : set) g.at(id).directives.group = g.next_group;
    g.next_group++;
}

void check_groups(const Graph &g) {
    if (std::none_of(g.nodes.begin(), g.nodes.end(), [](const Node &n) { return n.directives.group >= 0; })) return;
    Facts facts(g);
    for (auto &[id, members] : facts.members) {
        std::string why = Check(facts, members).reason(members);
        if (!why.empty()) refuse("Group " + std::to_string(id) + " would no longer be one: " + why);
    }
}

std::vector<NodeSet> legal_groups(const Graph &g, const std::function<bool(const Node &)> &who) {
    Facts facts(g);
    std::vector<NodeIds> sets;
    std::map<NodeId, int> set_of;
    for (auto &n : g.nodes) {
        if (n.is_argument() || n.directives.group >= 0 || !who(n)) continue;
        NodeIds producers = facts.links.reads[size_t(n.id)];
        auto later = [&](NodeId a, NodeId b) { return facts.position[size_t(a)] > facts.position[size_t(b)]; };
        std::sort(producers.begin(), producers.end(), later);
        int chosen = -1;
        std::set<int> tried;
        for (NodeId r : producers) {
            if (chosen >= 0 || !set_of.count(r) || !tried.insert(set_of[r]).second) continue;
            NodeIds larger = sets[size_t(set_of[r])];
            larger.push_back(n.id);
            bool one_width = std::all_of(larger.begin(), larger.end(), [&](NodeId id) {
                const int lanes = g.at(id).directives.vectorize;
                return !lanes || !n.directives.vectorize || lanes == n.directives.vectorize;
            });
            if (one_width && Check(facts, larger).reason({n.id}).empty()) chosen = set_of[r];
        }
        // A value without a dimension that needs no set is there before all of them: it opens none.
        if (tried.empty() && !n.dimensions() && !n.is_communication()) continue;
        if (chosen < 0) {
            chosen = int(sets.size());
            sets.push_back({});
        }
        sets[size_t(chosen)].push_back(n.id);
        set_of[n.id] = chosen;
        facts.add(n.id, g.next_group + chosen);
    }
    std::vector<NodeSet> found;
    for (auto &set : sets) found.emplace_back(set.begin(), set.end());
    return found;
}

std::vector<Group> groups_of(const Graph &g) {
    std::map<int, NodeSet> sets;
    for (auto &n : g.nodes)
        if (n.directives.group >= 0) sets[n.directives.group].insert(n.id);
    if (sets.empty()) return {};
    std::map<int, int> sweeps;
    const Graph settled = settle_transfers(g);
    for (auto &stage : partition(settled).stages)
        if (std::any_of(stage.begin(), stage.end(), [&](NodeId id) { return !is_small(settled, settled.at(id)); }))
            sweeps[settled.at(stage[0]).directives.group]++;
    std::vector<Group> groups;
    for (auto &[id, set] : sets) {
        Group group{id, {}, std::max(sweeps[id], 1)};
        for (NodeId n : without_parts(g, set)) group.stages.push_back(g.at(n).name);
        groups.push_back(group);
    }
    return groups;
}

std::string to_string(const Group &group) {
    return "Group " + std::to_string(group.id) + ", " + counted(size_t(group.sweeps), "sweep") + ": {" +
           join(group.stages) + "}";
}

}  // namespace stretto
