#include "lower/loop_nest.h"
#include <sstream>
#include "lang/print.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

const char *const combine_names[] = {"sum", "product", "maximum", "minimum"};

class LoopNest {
    const Lowering &l;
    std::ostringstream out;
    int stages = 0;

    std::string range(const Loop &loop) const {
        std::string extent = to_string(l.graph, loop.extent);
        switch (loop.range) {
        case plan::Range::Slice: return "slice of " + extent;
        case plan::Range::Block: return "block of " + extent;
        default: return extent;
        }
    }
    // The expression as the user wrote it; reads of other ranks as t@r.
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
    // Which rank a value is loaded from, if it is another.
    std::string rank_of(const Stage &s, const Node &n) const {
        for (NodeId id : nodes_read(n.value))
            for (auto &a : s.accesses)
                if (a.read == id && (a.from == plan::From::Rank || a.from == plan::From::Shift))
                    return a.from == plan::From::Rank ? "@" + std::to_string(a.rank)
                                                      : (a.rank < 0 ? "@own" : "@own+") + std::to_string(a.rank);
        return "";
    }
    void computation(const Stage &s, const Binding &b, const std::string &indent) {
        const Node &n = l.graph.at(b.node);
        out << indent << n.name << "(" << join(n.vars()) << ") = ";
        if (b.over == Binding::Ranks) out << combine_names[b.op] << " over ranks r of " << value(n, "@r");
        else if (b.over == Binding::Loops) out << combine_names[b.op] << " of " << value(n, "");
        else out << value(n, rank_of(s, n));
        if (b.over == Binding::Loops && s.order == Order::Lanes) out << " in " << order_lanes << " lanes";
        if (s.rides) out << " for this element's block";
        if (b.over == Binding::Loops && !s.rides) {
            Names reduced;
            for (size_t d = size_t(s.outputs); d < s.loops.size(); d++)
                reduced.push_back(s.loops[d].name + " in " + range(s.loops[d]));
            out << " for " << join(reduced);
        }
        out << "\n";
    }
    static bool is_move(const Binding &b) {
        return b.over == Binding::Nothing && (bound_number(b.value) >= 0 || as_access(b.value));
    }
    // Is it computed under another name, and goes to every rank from here?
    static bool gathers(const Stage &s, const Binding &b) {
        for (auto &a : s.accesses)
            if (a.written == b.node && a.stores_to_ranks()) return is_move(b);
        return false;
    }
    static std::string receiver(const StageAccess &a) {
        if (!a.stores_to_ranks()) return "";
        if (a.from == plan::From::Each) return " of every rank";
        return " of rank own " + std::string(a.rank < 0 ? "+ " : "- ") + std::to_string(std::abs(a.rank));
    }
    // The value that is stored, by the name it was computed under: a gather has none of its own.
    std::string stored_name(const Stage &s, const Stored &stored) const {
        const Binding &b = s.body.bindings[size_t(stored.binding)];
        if (!gathers(s, b) && !s.nodes.empty()) return l.graph.at(b.node).name;
        if (int k = bound_number(b.value); k >= 0) return l.graph.at(s.body.bindings[size_t(k)].node).name;
        return l.graph.at(s.accesses[size_t(accessed(as_access(b.value)))].read).name;
    }

    // One stage and the block sums that ride in it.
    void stage(const std::vector<const Stage *> &together, const char *comment) {
        const Stage &s = *together[0];
        std::string indent;
        Names names;
        for (auto *part : together)
            for (NodeId id : part->nodes) names.push_back(l.graph.at(id).name);
        out << "# stage " << stages++ << ": " << (names.empty() ? "copies" : join(names)) << "\n";
        for (int d = 0; d < s.outputs; d++) {
            out << indent << "for " << s.loops[size_t(d)].name << " in " << range(s.loops[size_t(d)])
                << (d == 0 ? comment : "") << ":\n";
            indent += "    ";
        }
        for (auto *part : together) body(*part, indent);
    }
    void body(const Stage &s, const std::string &indent) {
        NodeId last = -1;
        for (auto &b : s.body.bindings) {
            if (b.node != last && !s.nodes.empty() && !gathers(s, b)) computation(s, b, indent);
            last = b.node;
        }
        for (auto &stored : s.body.stored) {
            const StageAccess &a = s.accesses[size_t(stored.access)];
            out << indent << "store " << stored_name(s, stored) << " to " << l.buffers[size_t(a.buffer)].name
                << receiver(a) << (a.read >= 0 ? ", in place" : "") << "\n";
        }
    }

public:
    explicit LoopNest(const Lowering &l) : l(l) {}
    std::string text() {
        bool shared = false;
        for_each_stage(l.items, [&](const Stage &s) {
            for (auto &a : s.accesses) shared |= a.from != plan::From::Own;
        });
        if (shared) out << "enter  # every rank is here\n";
        for (size_t i = 0; i < l.items.size(); i++) {
            const Item &item = l.items[i];
            if (auto *s = std::get_if<Stage>(&item); s && !s->rides) {
                bool cut = !s->loops.empty() && s->loops[0].range == plan::Range::AnySlice;
                stage(with_riders(l.items, i), cut ? "  # of one dimension this rank's slice" : "");
            }
            if (auto *c = std::get_if<Choice>(&item))
                stage({&c->one_shot}, "  # two phases: of this rank's slice, stored to every rank");
            if (auto *sync = std::get_if<Sync>(&item)) {
                out << "barrier";
                if (&item == &l.items.back()) out << "  # the caller may write its arguments again";
                else if (!sync->always) out << "  # if an all-reduce before it ran in two phases";
                out << "\n";
            }
        }
        return out.str();
    }
};

}  // namespace

std::string loop_nest(const Lowering &l) { return LoopNest(l).text(); }

}  // namespace stretto
