// Schedules that are mostly wrong, of random programs: verbs as data of any fields, on any tensors, and text with one thing
// changed. Each is refused by an Error, or accepted, and then keeps the program's bits. STRETTO_RANDOM_SCHEDULES=n tries n
// programs (default 300), STRETTO_RANDOM_SEED=s begins elsewhere. Prints the outcomes of each kind.
#include <doctest/doctest.h>
#include <cstdio>
#include <cstdlib>
#include "lang/reference/random_inputs.h"
#include "tests/random/random_program.h"
#include "tests/random/random_schedule.h"
#include "tests/schedule/same_bits.h"

using namespace stretto;
using namespace stretto::test;

namespace {

int setting(const char *name, int fallback) {
    const char *s = std::getenv(name);
    return s ? std::atoi(s) : fallback;
}

struct Outcomes {
    int refused = 0, accepted = 0;
};
std::map<std::string, Outcomes> outcomes;

// Any value of each field, of nodes that there are and are not.
class Anything {
    Draw &draw;
    const Graph &g;

    int any(size_t n) {
        return draw.chance(85) ? draw.below(int(n))
                               : draw.pick<int>({-1, -2147483647 - 1, int(n), int(n) + 7, 2147483647});
    }

public:
    Anything(Draw &draw, const Graph &g) : draw(draw), g(g) {}
    void tensor(const char *, NodeId &id) { id = any(g.identities.size()); }
    void tensors(const char *, NodeIds &ids) {
        ids.clear();
        for (int k = draw.below(4); k > 0; k--) ids.push_back(any(g.identities.size()));
    }
    void argument(const char *, ArgumentId &a) { a = any(g.arguments.size()); }
    void number(const char *, int &n, bool = false) { n = any(4); }
    void algorithm(const char *, Algorithm &a) { a = draw.pick(algorithm_names()).second; }
};

std::string changed_text(std::string text, Draw &draw) {
    static const std::vector<std::string> parts = {",", "(", ")", "{", "}", "=", ".", "-1", "99999999999",
                                                   "\n", "#", "%s", std::string(1, 0), "split(", "t0"};
    if (text.empty()) text = "fuse_all()\n";
    const size_t at = size_t(draw.below(int(text.size()))), other = size_t(draw.below(int(text.size())));
    switch (draw.below(6)) {
    case 0: return text.erase(at, 1);
    case 1: return text.insert(at, 1, text[other]);
    case 2: return text.insert(at, draw.pick(parts));
    case 3: return text.substr(0, at);
    case 4: return text + text;
    default: std::swap(text[at], text[other]); return text;
    }
}

void attempt(const std::string &kind, const Program &p, uint64_t seed, const std::function<Schedule()> &make) {
    INFO("seed " << seed << ", " << kind);
    try {
        const Schedule s = make();
        outcomes[kind].accepted++;
        const int ranks = seed % 2 ? 1 : 3;
        CHECK(difference(p, s, random_sizes(p.graph(), ranks, seed), ranks) == "");
    } catch (const Error &e) {
        const std::string text = e.what();
        outcomes[kind].refused++;
        for (const char *words : {"internal", "stretto_", "Halide: "})
            CHECK_MESSAGE(text.find(words) == std::string::npos, text);
        CHECK_MESSAGE(text.find("\nLegal: ") != std::string::npos, text);
    } catch (const std::exception &e) { FAIL_CHECK("throws " << e.what()); }
}

}  // namespace

TEST_CASE("a schedule that may be wrong is refused, or accepted and keeps the bits") {
    const int count = setting("STRETTO_RANDOM_SCHEDULES", 300), first = setting("STRETTO_RANDOM_SEED", 1);
    RandomProgramOptions small;
    small.steps = 5, small.chain = 2, small.dimensions = 2;
    for (int i = 0; i < count; i++) {
        const uint64_t seed = uint64_t(first + i);
        Draw draw(seed);
        const Program p = random_program(seed, small).program, other = random_program(seed + 1, small).program;
        const Schedule s = random_schedule(p, seed, int(seed % 6));
        for (auto &kind : all_verbs()) {
            Verb verb = random_verb(s.graph(), name_of(kind), seed);
            auto change = [&](auto &v) {
                Anything any(draw, s.graph());
                v.fields(v, any);
            };
            if (draw.chance(70)) std::visit(change, verb);
            attempt(name_of(kind), p, seed, [&] {
                Schedule t = s;
                t.add(verb);
                return t;
            });
        }
        for (int k = 0; k < 4; k++) {
            const std::string text = changed_text(s.text(), draw);
            INFO(text);
            attempt("text", p, seed, [&] { return Schedule::parse(p, text); });
        }
        // Tensors by handle: of this program, of another one, or of none.
        std::vector<Tensor> tensors{Tensor("t0"), Tensor("nowhere")};
        for (auto *from : {&p, &p, &other})
            for (auto &[d, id] : from->tensors())
                if (draw.chance(50)) tensors.emplace_back(d);
        attempt("handles", p, seed, [&] {
            Schedule t = s;
            const Tensor a = draw.pick(tensors), b = draw.pick(tensors);
            const int n = draw.pick<int>({0, 0, 1, 2, -1, 4, 8, 1000});
            switch (draw.below(9)) {
            case 0: t.split(a, n); break;
            case 1: t.reorder(a, {a, b}); break;
            case 2: t.slice(a, n); break;
            case 3: t.as_slice(a); break;
            case 4: t.fuse({a, b}); break;
            case 5: t.collective(a, TwoPhase); break;
            case 6: t.vectorize(a, n); break;
            case 7: t.reorder(t.gather_of(a), {b}); break;
            default: t.slice(t.new_value_of(a), n);
            }
            return t;
        });
    }
    for (auto &[kind, o] : outcomes) {
        std::printf("%-12s refused %6d accepted %6d\n", kind.c_str(), o.refused, o.accepted);
        if (count < 300) continue;
        CHECK_MESSAGE(o.accepted > 0, kind);
        if (kind != FuseAll::name) CHECK_MESSAGE(o.refused > 0, kind);
    }
}
