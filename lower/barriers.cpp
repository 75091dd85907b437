#include "lower/barriers.h"

namespace stretto {

namespace {

struct AccessKind {
    bool write, peer;
};

class Derivation {
    Lowering &l;
    bool two_phase;
    std::map<int, std::vector<AccessKind>> since;  // the last barrier, by buffer

    std::vector<std::pair<int, AccessKind>> accesses(const Stage &s) const {
        std::vector<std::pair<int, AccessKind>> a;
        for (NodeId id : s.nodes) {
            const Node &n = l.graph.at(id);
            for (auto &r : reads_of(l.graph, n))
                if (l.buffer_of.count(r.node) && (n.loads_from_ranks() || l.stage_of.count(r.node) == 0 ||
                                                  l.stage_of.at(r.node) != l.stage_of.at(id)))
                    a.push_back({l.buffer_of.at(r.node), {false, n.loads_from_ranks()}});
        }
        bool phases = s.collective && (s.algorithm == Algorithm::TwoPhase || (s.algorithm == Algorithm::Auto && two_phase));
        for (auto &st : s.stores) a.push_back({st.buffer, {true, st.all || phases}});
        return a;
    }
    bool clashes(int buffer, const AccessKind &c) const {
        auto it = since.find(buffer);
        if (it == since.end()) return false;
        for (auto &a : it->second)
            if ((a.write || c.write) && (a.peer || c.peer)) return true;
        return false;
    }
    bool pass(const std::vector<std::pair<int, AccessKind>> &next) {
        bool barrier = false;
        for (auto &[b, c] : next) barrier |= clashes(b, c);
        if (barrier) since.clear();
        for (auto &[b, c] : next) since[b].push_back(c);
        return barrier;
    }

public:
    Derivation(Lowering &l, bool two_phase) : l(l), two_phase(two_phase) {
    }
    void run() {
        for (auto &s : l.stages) (two_phase ? s.barrier_two_phase : s.barrier_one_shot) = pass(accesses(s));
        std::vector<std::pair<int, AccessKind>> caller;
        for (size_t b = 0; b < l.buffers.size(); b++) caller.push_back({int(b), {true, false}});
        (two_phase ? l.leave_two_phase : l.leave_one_shot) = pass(caller);
    }
};

}  // namespace

void derive_barriers(Lowering &l) {
    Derivation(l, false).run();
    Derivation(l, true).run();
}

}  // namespace stretto
