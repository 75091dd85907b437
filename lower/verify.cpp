#include "lower/verify.h"
#include <algorithm>
#include <set>
#include "lower/verify_stage.h"

namespace stretto {

namespace {

using plan::From;

void check_stages(const Lowering &l) {
    std::set<NodeId> computed;
    int number = 0;
    const Stage *sweep = nullptr;  // in which the next one may ride
    for (auto &item : l.items) {
        auto *choice = std::get_if<Choice>(&item);
        auto *s = choice ? &choice->one_shot : std::get_if<Stage>(&item);
        if (choice || !s) sweep = nullptr;
        if (!s) continue;
        verify_stage(l, *s, sweep, number);
        if (choice) {
            verify_stage(l, choice->two_phases, nullptr, number);
            if (s->nodes != choice->two_phases.nodes)
                throw Fault("once", "the arms of stage " + std::to_string(number) + " compute different tensors");
        } else if (!s->rides) {
            sweep = s;
        }
        for (NodeId id : s->nodes)
            if (!computed.insert(id).second) throw Fault("once", l.graph.at(id).name + " is computed twice");
        number++;
    }
    for (auto &n : l.graph.nodes)
        if (!n.is_argument() && !computed.count(n.id)) throw Fault("once", n.name + " is computed by no stage");
}

// What a buffer holds on each rank.
struct Contents {
    NodeId value = -1;
    bool arriving = false;  // the peers' parts are on their way until the next wait
    int slice = -1;         // of which dimension the own part is, if that is known; of what arrives

    bool operator==(const Contents &o) const { return value == o.value && arriving == o.arriving && slice == o.slice; }
};

// How ranks may be at a buffer.
struct Touched {
    bool write = false, peer = false;
    int slice = -1;  // of which dimension, on the rank that does it; -1: more than one slice

    bool operator==(const Touched &o) const { return write == o.write && peer == o.peer && slice == o.slice; }
};

// What memory holds and who is at it, somewhere on a path through the choices.
class State {
    const Lowering &l;
    const Graph &g;
    std::vector<Contents> contents;             // by buffer
    std::vector<std::vector<Touched>> touched;  // by buffer, since the last wait

    const std::string &name(NodeId id) const { return g.at(id).name; }
    std::string held(const Contents &c) const { return c.value < 0 ? "nothing" : name(c.value); }

    void wait() {
        touched.assign(l.buffers.size(), {});
        for (auto &c : contents) c.arriving = false, c.slice = -1;
    }
    int slice_of(const Stage &s, const StageAccess &a) const {
        const Dims &dims = l.buffers[size_t(a.buffer)].dims;
        int slice = -1;
        for (size_t d = 0; d < dims.size(); d++)
            for (size_t k = 0; k < s.loops.size(); k++)
                if (a.reach[d] == int(k) && at_own_slice(s, s.loops[k]) && s.loops[k].extent == dims[d]) slice = int(d);
        return slice;
    }
    std::vector<Touched> touches(const Stage &s, const StageAccess &a) const {
        const int slice = slice_of(s, a);
        const bool stores = a.written >= 0, ranks = a.from != From::Own;
        std::vector<Touched> all;
        if (a.read >= 0) all.push_back({false, ranks && !stores, slice});
        if (stores) all.push_back({true, false, slice});
        if (stores && ranks) all.push_back({true, true, slice});
        return all;
    }
    bool clash(int buffer, const std::vector<Touched> &next) const {
        for (auto &b : touched[size_t(buffer)])
            for (auto &t : next)
                if ((b.write || t.write) && (b.peer || t.peer) && (b.slice < 0 || b.slice != t.slice)) return true;
        return false;
    }
    // After the call the caller is at its arguments, and may free the rest.
    bool clash_with_caller(int buffer) const { return clash(buffer, {{true, false, -1}}); }

public:
    explicit State(const Lowering &l) : l(l), g(l.graph), contents(l.buffers.size()) {
        for (size_t b = 0; b < l.buffers.size(); b++)
            if (int argument = l.buffers[b].argument; argument >= 0) contents[b].value = g.arguments[size_t(argument)].node;
        wait();  // entering a call is one
    }
    bool operator==(const State &o) const { return contents == o.contents && touched == o.touched; }

    // The runtime waits at a Sync only where the next stage, or what rides in it, clashes on this path.
    void pass(const Sync &sync, const std::vector<const Stage *> &next) {
        for (int b : sync.buffers)
            for (auto *s : next)
                for (auto &a : s->accesses)
                    if (a.buffer == b && clash(b, touches(*s, a))) return wait();
    }
    void pass_last(const Sync &sync) {
        if (std::any_of(sync.buffers.begin(), sync.buffers.end(), [&](int b) { return clash_with_caller(b); })) wait();
    }

    void compute(const Stage &s, int number) {
        auto fail = [&](const char *rule, const std::string &why) {
            throw Fault(rule, "stage " + std::to_string(number) + ", " + why);
        };
        for (auto &a : s.accesses) {
            const Contents &c = contents[size_t(a.buffer)];
            const std::string &buffer = l.buffers[size_t(a.buffer)].name;
            if (a.read >= 0 && c.value != a.read)
                fail("version", "it reads " + name(a.read) + ", but " + buffer + " holds " + held(c));
            // A value that is still arriving is complete on its owner only.
            const bool at_own = c.slice >= 0 && c.slice == slice_of(s, a) && a.from == From::Own;
            if (a.read >= 0 && c.arriving && !at_own && !g.at(a.read).layout.is_sliced())
                fail("barrier", "it reads all of " + name(a.read) + ", of which a part is here");
            if (clash(a.buffer, touches(s, a)))
                fail("barrier", "a wait is needed before it: another rank is at " + buffer);
        }
        for (auto &a : s.accesses) {
            auto &here = touched[size_t(a.buffer)];
            for (auto &t : touches(s, a))
                if (std::find(here.begin(), here.end(), t) == here.end()) here.push_back(t);
            if (a.written >= 0) contents[size_t(a.buffer)] = {a.written, false, -1};
            if (a.stores_to_ranks()) contents[size_t(a.buffer)] = {a.written, true, slice_of(s, a)};
        }
    }

    void leave() const {
        for (size_t b = 0; b < l.buffers.size(); b++)
            if (clash_with_caller(int(b)))
                throw Fault("leave", "another rank may be at " + l.buffers[b].name + " when the call returns");
        for (auto &r : g.results)
            for (size_t b = 0; b < l.buffers.size(); b++)
                if (l.buffers[b].argument == r.argument && (contents[b].value != r.node || contents[b].arriving))
                    throw Fault("result", g.arguments[size_t(r.argument)].name + " should hold " + name(r.node) +
                                              " at the end, and holds " + held(contents[b]));
    }
};

// Follows every path through the choices, those that come to the same state as one from there on. Where there are many states,
// each takes one arm of the next choice, by turns.
void follow_paths(const Lowering &l) {
    constexpr size_t most_states = 8;
    std::vector<State> states{State(l)};
    const Sync *sync = nullptr;  // before the next stage
    int number = 0;
    size_t choices = 0;
    for (size_t i = 0; i < l.items.size(); i++) {
        if (auto *next = std::get_if<Sync>(&l.items[i])) {
            sync = next;
            continue;
        }
        auto *choice = std::get_if<Choice>(&l.items[i]);
        auto enter = [&](State &state, const std::vector<const Stage *> &stages) {
            if (sync) state.pass(*sync, stages);
            state.compute(*stages[0], number);
        };
        const size_t reached = states.size();
        for (size_t k = 0; k < reached; k++) {
            const bool fork = choice && reached < most_states, turn = !fork && (k >> (choices % 3) & 1);
            if (fork) enter(states.emplace_back(states[k]), {&choice->two_phases});
            if (choice) enter(states[k], {turn ? &choice->two_phases : &choice->one_shot});
            else enter(states[k], with_riders(l.items, i));
        }
        choices += choice != nullptr;
        number++;
        sync = nullptr;
        std::vector<State> apart;
        for (auto &s : states)
            if (std::find(apart.begin(), apart.end(), s) == apart.end()) apart.push_back(std::move(s));
        states = std::move(apart);
    }
    for (auto &s : states) {
        if (sync) s.pass_last(*sync);
        s.leave();
    }
}

}  // namespace

std::string verify(const Lowering &l) {
    try {
        check_stages(l);
        follow_paths(l);
    } catch (const Fault &fault) { return fault.what(); }
    return "";
}

}  // namespace stretto
