#include "lower/loop_nest.h"
#include <sstream>
#include "lang/order.h"
#include "lang/print.h"

namespace stretto {

namespace {

const char *const combine_names[] = {"sum", "product", "maximum", "minimum"};

class LoopNest {
    const Lowering &l;
    std::ostringstream out;

    Names loop_names(const Stage &s) const {
        const Node &n = l.graph.at(s.nodes[0]);
        Names names;
        for (auto &i : n.domain)
            if (i.reduced || !n.as<Blocks>()) names.push_back(i.name);
        return names;
    }
    std::string range(const Stage &s, size_t d) const {
        std::string extent = to_string(l.graph, s.loops[d]);
        switch (s.ranges[d]) {
        case plan::Range::Slice: return "slice of " + extent;
        case plan::Range::OwnBlock: return "block rank() of " + extent;
        case plan::Range::EachBlock: return "each of ranks() blocks of " + extent;
        default: return extent;
        }
    }
    // Reads of other ranks are written t@r.
    std::string value(const Node &n, const std::string &rank) const {
        std::string text = to_string(l.graph, n.source);
        if (rank.empty()) return text;
        for (NodeId id : nodes_read(n.source)) {
            std::string name = l.graph.at(id).name + "(";
            for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size() + rank.size())) {
                bool begins = at == 0 || (!isalnum(text[at - 1]) && text[at - 1] != '_' && text[at - 1] != '.');
                if (begins) text.insert(at + name.size() - 1, rank);
            }
        }
        return text;
    }
    std::string computation(const Node &n) const {
        std::string left = n.name + "(";
        for (size_t d = 0; d < n.dimensions(); d++) left += (d ? ", " : "") + n.domain[d].name;
        left += ") = ";
        if (n.reduces_over_ranks()) return left + combine_names[n.reduce_op()] + " over ranks r of " + value(n, "@r");
        if (n.loads_from_ranks()) return left + value(n, "@" + std::to_string(n.as<Communication>()->from.value));
        if (n.as<Reduction>() || n.as<Blocks>()) {
            std::string in_lanes = order_of(n) == Order::Lanes ? " in " + std::to_string(order_lanes) + " lanes" : "";
            return left + combine_names[n.reduce_op()] + " of " + value(n, "") + in_lanes;
        }
        if (auto *f = n.as<Fold>()) return left + combine_names[f->op] + " of " + value(n, "") + " for block in ranks()";
        return left + value(n, "");
    }

    void stage(size_t i) {
        const Stage &s = l.stages[i];
        std::string names;
        for (NodeId id : s.nodes) names += (names.empty() ? "" : ", ") + l.graph.at(id).name;
        if (s.barrier_one_shot || s.barrier_two_phase)
            out << "barrier" << (s.barrier_one_shot ? "" : "  # if an all-reduce before it ran in two phases") << "\n";
        out << "# stage " << i << ": " << names << "\n";
        std::string indent;
        Names loops = loop_names(s);
        for (size_t d = 0; d < s.loops.size(); d++) {
            out << indent << "for " << loops[d] << " in " << range(s, d)
                << (s.collective && d == 0 ? "  # two phases: of this rank's slice, stored to every rank" : "") << ":\n";
            indent += "    ";
        }
        for (NodeId id : s.nodes)
            if (!l.graph.at(id).stores_to_ranks()) out << indent << computation(l.graph.at(id)) << "\n";
        for (auto &st : s.stores) {
            const Node &n = l.graph.at(st.node);
            std::string stored = n.name;
            if (n.stores_to_ranks()) stored = l.graph.at(nodes_read(n.value)[0]).name;
            out << indent << "store " << stored << " to " << l.buffers[st.buffer].name << (st.all ? " of every rank" : "")
                << (st.in_place ? ", in place" : "") << "\n";
        }
    }

public:
    explicit LoopNest(const Lowering &l) : l(l) {
    }
    std::string text() {
        bool shared = false;
        for (auto &b : l.buffers) shared |= b.peers;
        if (shared) out << "enter  # every rank is here\n";
        for (size_t i = 0; i < l.stages.size(); i++) stage(i);
        if (l.leave_one_shot || l.leave_two_phase) out << "barrier  # the caller may write its arguments again\n";
        return out.str();
    }
};

}  // namespace

std::string loop_nest(const Lowering &l) {
    return LoopNest(l).text();
}

}  // namespace stretto
