// Random programs of which one thing is changed, mostly to something wrong: each is refused by an Error, or accepted and right.
// STRETTO_RANDOM_PROGRAMS=n changes that many (default 10000), STRETTO_RANDOM_SEED=s begins elsewhere. One in a hundred of
// those accepted is compiled (one in STRETTO_RANDOM_COMPILED). Prints the outcomes of each kind of change.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
#include <cstdio>
#include <cstdlib>
#include "lang/reference/random_inputs.h"
#include "tests/random/mutations.h"
#include "tests/random/random_program.h"

using namespace stretto;

namespace {

int setting(const char *name, int fallback) {
    const char *s = std::getenv(name);
    return s ? std::atoi(s) : fallback;
}

struct Outcomes {
    int refused = 0, at_call = 0, accepted = 0, compiled = 0;
};

// What is wrong with the words of a refusal, "" if nothing.
std::string fault_of(const std::string &text) {
    for (const char *words : {"internal", "Internal", "assert", ".cpp:", "stretto_", "scalar.", "let.", "Halide: "})
        if (text.find(words) != std::string::npos) return std::string("it says ") + words;
    return text.find("\nLegal: ") == std::string::npos ? "it does not say what is legal" : "";
}

// A read outside of a tensor, a root that is no rank: the call says so, and the reference.
bool is_call_error(const std::string &text) {
    return text.find("has no element") != std::string::npos || text.find("is a broadcast from rank") != std::string::npos;
}

class Fuzzer {
    std::map<std::string, Outcomes> outcomes;
    int accepted = 0;

    // Runs f; `refused` gets the text of an Error. Nothing else may be thrown.
    template <class F, class G>
    static bool runs(const char *where, const F &f, const G &refused) {
        try {
            f();
            return true;
        } catch (const Error &e) { refused(std::string(e.what())); } catch (const NotWritten &) {
        } catch (const std::exception &e) { FAIL_CHECK(where << " throws " << e.what()); } catch (const Halide::Error &e) {
            FAIL_CHECK(where << " throws Halide's " << e.what());
        }
        return false;
    }

    // By the reference, which looks at the bounds of every read.
    static bool is_computed(const Graph &g, uint64_t seed) {
        bool at_call = false;
        for (int ranks : {1, 3})
            runs(
                "the reference", [&] { interpret(g, ranks, random_inputs(g, random_sizes(g, ranks, seed), ranks, seed)); },
                [&](const std::string &text) {
                    at_call = true;
                    CHECK_MESSAGE(is_call_error(text), text << "\n"
                                                            << to_string(g));
                });
        return !at_call;
    }

    static void compare(const Program &p, uint64_t seed) {
        CheckOptions options;
        options.ranks = {1, 3};
        options.sizes = {0, 4};
        options.seed = seed;
        options.compile.direct_ranks = {2};
        runs(
            "the compiler",
            [&] {
                const CheckReport r = check(p, Schedule(p), options);
                CHECK_MESSAGE(r.ok(), to_string(p) << to_string(r));
            },
            [&](const std::string &text) { FAIL_CHECK(text << "\n"
                                                           << to_string(p)); });
    }

public:
    void change(uint64_t seed, int one_in) {
        RandomProgramOptions small;
        small.steps = 3, small.chain = 2, small.dimensions = 2;
        const Mutation &m = mutations()[seed % mutations().size()];
        Outcomes &o = outcomes[m.name];
        Draw draw(seed);
        Sketch s = sketch_of(random_arguments(seed / mutations().size(), small));
        std::string what;
        std::optional<Program> p;
        INFO("seed " << seed << ": " << m.name);
        const bool written = runs(
            "the language",
            [&] {
                what = m.apply(s, draw);
                if (!what.empty()) p = write(s, "fuzzed");
            },
            [&](const std::string &text) {
                o.refused++;
                CHECK_MESSAGE(fault_of(text) == "", what << "\n"
                                                         << text);
            });
        if (!written || !p) return;
        INFO(what);
        if (!is_computed(p->graph(), seed)) {
            o.at_call++;
            return;
        }
        o.accepted++;
        if (accepted++ % one_in) return;
        o.compiled++;
        compare(*p, seed);
    }

    void print() const {
        std::printf("%-28s %8s %8s %8s %8s\n", "changed", "refused", "at call", "accepted", "compiled");
        for (auto &[name, o] : outcomes)
            std::printf("%-28s %8d %8d %8d %8d\n", name.c_str(), o.refused, o.at_call, o.accepted, o.compiled);
    }

    void check_counts() const {
        int compiled = 0;
        for (auto &[name, o] : outcomes) {
            INFO(name);
            compiled += o.compiled;
            if (name == "nothing") CHECK(o.refused + o.at_call == 0);
            else if (name != "range") CHECK(o.refused > 0);
            if (name != "without a value") CHECK(o.accepted > 0);
        }
        CHECK(compiled > 0);
    }
};

}  // namespace

TEST_CASE("a program with one thing changed is refused, or accepted and right") {
    const int count = setting("STRETTO_RANDOM_PROGRAMS", 10000), first = setting("STRETTO_RANDOM_SEED", 1);
    Fuzzer fuzzer;
    for (int i = 0; i < count; i++) fuzzer.change(uint64_t(first + i), setting("STRETTO_RANDOM_COMPILED", 100));
    fuzzer.print();
    if (count >= 10000) fuzzer.check_counts();
}
