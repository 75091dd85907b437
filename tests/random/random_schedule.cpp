#include "tests/random/random_schedule.h"

namespace stretto {

namespace {

class Choice {
    std::mt19937_64 random;

public:
    explicit Choice(uint64_t seed) : random(seed) {}
    // By remainder, not by a distribution: those differ between standard libraries.
    int below(int n) { return int(random() % uint64_t(n)); }
    template <class T>
    const T &of(const std::vector<T> &v) { return v[size_t(below(int(v.size())))]; }
    bool coin() { return random() & 1; }
    bool one_in(int n) { return below(n) == 0; }
};

// Changes the fields of a verb, most of them rarely, to what may be legal or not. `all`: sets every one anew.
class Changed {
    Choice &choose;
    const bool all;
    NodeIds nodes;  // that can be written
    const int arguments;

public:
    Changed(const Graph &g, Choice &choose, bool all) : choose(choose), all(all), arguments(int(g.arguments.size())) {
        nodes = nodes_where(g, [&](const Node &n) { return !is_part(g, n); });
    }
    void tensor(const char *, NodeId &id) {
        if (all || choose.one_in(12)) id = choose.of(nodes);
    }
    // A piece of the set, or of all nodes.
    void tensors(const char *, NodeIds &ids) {
        if (all || choose.one_in(12)) ids = nodes;
        if (choose.coin()) return;
        const int first = choose.below(int(ids.size())), last = first + choose.below(int(ids.size()) - first);
        ids = {ids.begin() + first, ids.begin() + last + 1};
        if (ids.size() > 1 && choose.one_in(4)) ids.erase(ids.begin() + choose.below(int(ids.size())));
    }
    void argument(const char *, ArgumentId &a) {
        if (all || choose.one_in(4)) a = choose.below(arguments);
    }
    void number(const char *, int &n, bool = false) {
        if (all || choose.one_in(12)) n = choose.below(4);
    }
    void algorithm(const char *, Algorithm &a) {
        if (all || choose.one_in(4)) a = choose.of(algorithm_names()).second;
    }
};

// A move that is legal, or near one.
Verb random_verb(const Graph &g, Choice &choose, const std::string &name) {
    for (auto &kind : all_verbs()) {
        if (name_of(kind) != name) continue;
        return std::visit(
            [&](auto verb) {
                const auto moves = verb.moves(g);
                if (!moves.empty()) verb = choose.of(moves);
                Changed changed(g, choose, moves.empty());
                verb.fields(verb, changed);
                return Verb(verb);
            },
            kind);
    }
    throw Error("no verb is called " + name);
}

}  // namespace

Verb random_verb(const Graph &g, const std::string &name, uint64_t seed) {
    Choice choose(seed);
    return random_verb(g, choose, name);
}

const Names &verb_names() {
    static const Names names = [] {
        Names names;
        for (auto &v : all_verbs()) names.push_back(name_of(v));
        return names;
    }();
    return names;
}

Schedule random_schedule(const Program &p, uint64_t seed, int tries, VerbCounts *counts) {
    Schedule s(p);
    Choice choose(seed);
    for (int i = 0; i < tries; i++) {
        // What fuses comes late: a Group is not changed by the verbs after it.
        bool late = i >= tries - (tries + 3) / 4;
        const std::string &name = choose.of(verb_names());
        if (!late && (name == Fuse::name || name == FuseAll::name)) continue;
        const Verb verb = random_verb(s.graph(), choose, name);
        const bool legal = succeeds([&] { apply(s.graph(), verb); });
        if (legal) s.add(verb);
        if (counts) (legal ? counts->accepted : counts->refused)[name]++;
    }
    return s;
}

}  // namespace stretto
