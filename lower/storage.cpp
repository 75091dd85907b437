#include "lower/storage.h"
#include <algorithm>

namespace stretto {

namespace {

using plan::From;
using plan::Range;
using plan::StageKind;

class Storage {
    Lowering &l;
    std::vector<Stage> &stages;
    std::map<NodeId, std::pair<int, const StageAccess *>> writer;              // of a value, and its stage
    std::map<NodeId, std::vector<std::pair<int, const StageAccess *>>> reads;  // of a value, by stage

    // May v's stage write argument a's memory?
    bool may_store_into(const Argument &a, NodeId v) const {
        auto at = writer.find(v);
        if (at == writer.end() || a.layout.dims != l.graph.at(v).layout.dims) return false;
        if (a.node < 0) return true;
        for (auto &r : l.graph.results)
            if (r.node == a.node) return false;  // copied at the end
        auto &[stage, write] = at->second;
        auto entry = reads.find(a.node);
        if (entry == reads.end()) return true;
        return std::all_of(entry->second.begin(), entry->second.end(), [&, stage = stage, write = write](auto &read) {
            auto &[reader, access] = read;
            const Stage &s = stages[size_t(reader)];
            return reader < stage || (reader == stage && s.kind == StageKind::Sweep && write->from != From::Shift &&
                                      access->from == From::Own && is_own_element(s, *access));
        });
    }

    // p(i) = v(i), in one sweep with other copies of that shape.
    void add_copy(NodeId v, int to, size_t first) {
        const Node &n = l.graph.at(v);
        Stage s;
        std::vector<Expr> here;
        std::vector<int> reach;
        for (size_t d = 0; d < n.dimensions(); d++) {
            s.loops.push_back({default_index(int(d)), n.domain[d].extent,
                               n.layout.axes_of(d).empty() ? Range::Whole : Range::Slice});
            here.push_back(loop_index(int(d)));
            reach.push_back(int(d));
        }
        s.outputs = int(n.dimensions());
        size_t at = first;
        while (at < stages.size() && !(stages[at].loops == s.loops)) at++;
        if (at == stages.size()) stages.push_back(s);
        Stage &into = stages[at];
        StageAccess read, write;
        read.read = write.written = v;
        read.reach = write.reach = reach;
        write.buffer = to;
        int k = int(into.accesses.size());
        into.accesses.push_back(read);
        into.accesses.push_back(write);
        into.body.bindings.push_back({v, load(k, n.type, here), Binding::Nothing, Sum});
        into.body.stored.push_back({int(into.body.bindings.size()) - 1, k + 1});
    }

    // A read and a write of one buffer are one access.
    static void update_in_place(Stage &s) {
        for (size_t w = s.accesses.size(); w-- > 0;) {
            if (s.accesses[w].written < 0) continue;
            for (size_t r = 0; r < w; r++) {
                StageAccess &a = s.accesses[r];
                if (a.written >= 0 || a.buffer != s.accesses[w].buffer || a.from != From::Own) continue;
                a.written = s.accesses[w].written;
                a.from = s.accesses[w].from;
                for (auto &stored : s.body.stored) {
                    if (stored.access == int(w)) stored.access = int(r);
                    else if (stored.access > int(w)) stored.access--;
                }
                s.accesses.erase(s.accesses.begin() + long(w));
                break;
            }
        }
        std::sort(s.body.stored.begin(), s.body.stored.end(), [](auto &a, auto &b) { return a.access < b.access; });
    }

public:
    Storage(Lowering &l, std::vector<Stage> &stages) : l(l), stages(stages) {
        for (size_t i = 0; i < stages.size(); i++)
            for (auto &a : stages[i].accesses) {
                if (a.written >= 0) writer[a.written] = {int(i), &a};
                if (a.read >= 0) reads[a.read].push_back({int(i), &a});
            }
    }

    void run() {
        const Graph &g = l.graph;
        std::map<NodeId, int> buffer_of;
        std::vector<int> argument_buffer(g.arguments.size(), -1);
        for (size_t i = 0; i < g.arguments.size(); i++) {
            const Argument &a = g.arguments[i];
            if (a.scalar) continue;
            argument_buffer[i] = int(l.buffers.size());
            l.buffers.push_back({a.name, a.type, a.dims, a.layout.first_sliced(), ArgumentId(i)});
            if (a.node >= 0) buffer_of[a.node] = argument_buffer[i];
        }
        std::vector<Result> copies;
        for (auto &r : g.results)  // the first argument that can take a value has it
            if (!may_store_into(g.arguments[size_t(r.argument)], r.node) ||
                !buffer_of.emplace(r.node, argument_buffer[size_t(r.argument)]).second)
                copies.push_back(r);
        for (auto &s : stages)
            for (auto &a : s.accesses)
                if (a.written >= 0 && buffer_of.emplace(a.written, int(l.buffers.size())).second) {
                    const Node &n = g.at(a.written);
                    l.buffers.push_back({n.name, n.type, n.dims(), n.layout.first_sliced(), -1});
                }
        const size_t first = stages.size();
        for (auto &r : copies) add_copy(r.node, argument_buffer[size_t(r.argument)], first);
        for (auto &s : stages) {
            for (auto &a : s.accesses)
                if (a.buffer < 0) a.buffer = buffer_of.at(a.read >= 0 ? a.read : a.written);
            update_in_place(s);
        }
    }
};

}  // namespace

void assign_storage(Lowering &l, std::vector<Stage> &stages) { Storage(l, stages).run(); }

}  // namespace stretto
