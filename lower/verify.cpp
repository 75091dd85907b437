#include "lower/verify.h"
#include <algorithm>
#include <set>

namespace stretto {

namespace {

using plan::Range;
using plan::StageKind;

// What a buffer holds on each rank.
struct Contents {
    NodeId value = -1;
    enum Part { Nothing,
                OwnPart,
                All } part = Nothing;
    bool arriving = false;  // the peers' parts are on their way until the next barrier
};

class Verifier {
    const Lowering &l;
    const Graph &g;
    const bool two_phase;
    std::vector<Contents> contents;
    struct Touch {
        bool own_read = false, own_write = false, peer_read = false, peer_write = false;
    };
    std::vector<Touch> touched;  // since the last barrier
    std::string fault;

    bool fail(const char *rule, int stage, const std::string &why) {
        std::string where = stage < 0 ? "" : "stage " + std::to_string(stage) + ", ";
        if (fault.empty()) fault = std::string(rule) + ": " + where + why;
        return false;
    }
    const std::string &name(NodeId id) const { return g.at(id).name; }
    bool phased(const Stage &s) const {
        return s.collective &&
               (s.algorithm == Algorithm::TwoPhase || (s.algorithm == Algorithm::Auto && two_phase));
    }

    void synchronise() {
        touched.assign(l.buffers.size(), {});
        for (auto &c : contents)
            if (c.arriving) {
                c.arriving = false;
                c.part = Contents::All;
            }
    }

    bool touch(int stage, int buffer, const Touch &t, const std::string &what) {
        const Touch &before = touched[buffer];
        bool conflict = (t.peer_read && (before.own_write || before.peer_write)) ||
                        (t.peer_write &&
                         (before.own_write || before.peer_write || before.own_read || before.peer_read)) ||
                        (t.own_read && before.peer_write) ||
                        (t.own_write && (before.peer_write || before.peer_read));
        if (conflict)
            return fail("barrier", stage,
                        what + " needs a barrier before it: another rank is at " + l.buffers[buffer].name);
        return true;
    }
    static void merge(Touch &into, const Touch &t) {
        into.own_read |= t.own_read;
        into.own_write |= t.own_write;
        into.peer_read |= t.peer_read;
        into.peer_write |= t.peer_write;
    }

    // One read of `operand` by node n of the stage. Sets what it does to the buffer.
    bool read(int i, const Stage &s, const Node &n, const Read &r, std::map<int, Touch> &touches) {
        const Node &t = g.at(r.node);
        auto inside = std::find(s.nodes.begin(), s.nodes.end(), r.node);
        if (inside != s.nodes.end()) {
            if (inside >= std::find(s.nodes.begin(), s.nodes.end(), n.id))
                return fail("order", i, n.name + " reads " + t.name + ", which is computed after it");
            if (!r.same_element || n.loads_from_ranks() || t.stores_to_ranks())
                return fail("order", i, n.name + " reads more of " + t.name + " than the sweep has computed");
            return true;
        }
        auto found = l.buffer_of.find(r.node);
        if (found == l.buffer_of.end())
            return fail("stored", i, n.name + " reads " + t.name + ", which has no buffer");
        int b = found->second;
        const Contents &c = contents[b];
        if (c.value != r.node)
            return fail("version", i,
                        n.name + " reads " + t.name + ", but " + l.buffers[b].name + " holds " +
                            (c.value < 0 ? "nothing yet" : name(c.value)));
        bool peer = n.loads_from_ranks();
        Touch touch;
        (peer ? touch.peer_read : touch.own_read) = true;
        merge(touches[b], touch);
        if (peer && !l.buffers[b].peers)
            return fail("peers", i, "other ranks load " + l.buffers[b].name + ", which is not marked");
        // A value that is still arriving is complete on its owner only.
        bool needs_all = !t.layout.is_sliced();
        if (needs_all && (c.part != Contents::All || c.arriving))
            return fail(c.arriving ? "barrier" : "complete", i,
                        n.name + " reads all of " + t.name + ", of which a part is here");
        if (c.part == Contents::Nothing)
            return fail("complete", i, n.name + " reads " + t.name + " before it is computed");
        return true;
    }

    bool store(int i, const Stage &s, const StageStore &st, std::map<int, Touch> &touches) {
        const Storage &b = l.buffers[st.buffer];
        const Node &n = g.at(st.node);
        if (b.argument >= 0 && g.arguments[b.argument].access == Access::Input)
            return fail("input", i, n.name + " is stored to the input " + b.name);
        bool sends = st.all || phased(s);
        if (sends && !b.peers)
            return fail("peers", i, "other ranks store to " + b.name + ", which is not marked");
        bool divided = s.slice >= 0;
        for (auto &range : s.ranges) divided |= range == Range::OwnBlock;
        if (st.all && !divided && !s.collective)
            return fail("owner", i, n.name + " goes to every rank, and every rank computes all of it");
        if (s.kind == StageKind::BlockSum) {
            bool own = std::find(s.ranges.begin(), s.ranges.end(), Range::OwnBlock) != s.ranges.end();
            if (b.dims != Dims{Dim{Dim::Ranks, 0}} || (b.sliced == 0) != (own && !st.all))
                return fail("shape", i,
                            n.name + " stores blocks to " + b.name + ", which does not hold one a rank");
        } else {
            Dims outputs(s.loops.begin(), s.loops.begin() + s.outputs);
            int slice = s.slice < s.outputs ? s.slice : -1;
            if (b.dims != outputs || b.sliced != (st.all ? -1 : slice) || b.type != n.type)
                return fail("shape", i, n.name + " is stored to " + b.name + ", which is placed otherwise");
        }
        bool reads_it = false;
        for (NodeId id : s.nodes)
            for (auto &r : reads_of(g, g.at(id))) {
                auto found = l.buffer_of.find(r.node);
                bool outside = std::find(s.nodes.begin(), s.nodes.end(), r.node) == s.nodes.end();
                if (!outside || found == l.buffer_of.end() || found->second != st.buffer) continue;
                bool own_element =
                    r.same_element && !g.at(id).loads_from_ranks() && s.kind == StageKind::Sweep;
                if (!own_element || (sends && s.slice < 0 && !phased(s)))
                    return fail("race", i,
                                name(id) + " reads " + name(r.node) + " in " + b.name + " while " + n.name +
                                    " is stored there");
                if (phased(s))
                    return fail("race", i,
                                name(id) + " reads " + b.name + " while other ranks store " + n.name);
                reads_it = true;
            }
        if (reads_it != st.in_place)
            return fail("in place", i,
                        n.name + (reads_it ? " is computed from " : " is not computed from ") + b.name +
                            ", and the store says otherwise");
        Touch touch;
        touch.own_write = true;
        touch.peer_write = sends;
        merge(touches[st.buffer], touch);
        return true;
    }

public:
    Verifier(const Lowering &l, bool two_phase) : l(l), g(l.graph), two_phase(two_phase) {}

    std::string run() {
        contents.resize(l.buffers.size());
        for (auto &a : g.arguments)
            if (a.node >= 0) {
                auto b = l.buffer_of.find(a.node);
                if (b == l.buffer_of.end()) return "stored: argument " + a.name + " has no buffer";
                contents[b->second] = {a.node, Contents::All, false};
            }
        synchronise();  // entering a call is a barrier
        std::set<NodeId> computed;
        for (size_t i = 0; i < l.stages.size(); i++) {
            const Stage &s = l.stages[i];
            if (two_phase ? s.barrier_two_phase : s.barrier_one_shot) synchronise();
            std::map<int, Touch> touches;
            for (NodeId id : s.nodes) {
                if (!computed.insert(id).second) return "once: " + name(id) + " is computed twice";
                for (auto &r : reads_of(g, g.at(id)))
                    if (!read(int(i), s, g.at(id), r, touches)) return fault;
            }
            std::set<int> stored;
            for (auto &st : s.stores) {
                if (!stored.insert(st.buffer).second) {
                    fail("version", int(i), "two values are stored to " + l.buffers[st.buffer].name);
                    return fault;
                }
                if (!store(int(i), s, st, touches)) return fault;
            }
            for (auto &[b, t] : touches)
                if (!touch(int(i), b, t, name(s.nodes[0]))) return fault;
            for (auto &[b, t] : touches) merge(touched[b], t);
            for (auto &st : s.stores) {
                bool sends = st.all || phased(s);
                contents[st.buffer] = {st.node, sends ? Contents::OwnPart : Contents::All, sends};
            }
        }
        for (auto &n : g.nodes)
            if (!n.is_argument() && !computed.count(n.id))
                return "once: " + n.name + " is computed by no stage";
        if (two_phase ? l.leave_two_phase : l.leave_one_shot) synchronise();
        for (size_t b = 0; b < l.buffers.size(); b++)
            if (touched[b].peer_read || touched[b].peer_write)
                return "leave: another rank may be at " + l.buffers[b].name + " when the call returns";
        for (auto &r : g.results) {
            const Argument &a = g.arguments[r.argument];
            for (size_t b = 0; b < l.buffers.size(); b++) {
                if (l.buffers[b].argument != r.argument) continue;
                if (contents[b].value != r.node || contents[b].part != Contents::All)
                    return "result: " + a.name + " should hold " + name(r.node) + " at the end, and holds " +
                           (contents[b].value < 0 ? "nothing" : name(contents[b].value));
            }
        }
        return "";
    }
};

}  // namespace

std::string verify(const Lowering &l) {
    std::string fault = Verifier(l, false).run();
    return fault.empty() ? Verifier(l, true).run() : fault;
}

}  // namespace stretto
