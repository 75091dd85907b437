// Random programs under random legal schedules, both run by the reference: every result keeps its bits.
#include <doctest/doctest.h>
#include "lang/print.h"
#include "lang/reference/random_inputs.h"
#include "tests/random/random_program.h"
#include "tests/random/random_schedule.h"

#include <cstdio>
#include <cstdlib>

using namespace stretto;

namespace {

// `part`: a rank's slice of `whole`, or all of it.
bool same_elements(const HostTensor &whole, const HostTensor &part) {
    HostTensor cut(whole.type, part.begin, part.extent);
    int64_t p = 0;
    for_each_index(part.begin, part.extent,
                   [&](auto &index) { cut.store(p++, whole.load(whole.position(index))); });
    return same_bits(cut, part);
}

}  // namespace

TEST_CASE("no schedule changes a bit of a random program") {
    const char *option = std::getenv("STRETTO_RANDOM_PROGRAMS");
    const uint64_t programs = option ? std::strtoull(option, nullptr, 10) : 200;
    VerbCounts counts;
    int64_t elements = 0;
    for (uint64_t seed = 0; seed < programs; seed++) {
        RandomProgram random = random_program(seed);
        const Graph &g = random.program.graph();
        Schedule s = random_schedule(random.program, seed, 12, &counts);
        int ranks = 1 + int(seed % 5);
        auto sizes = random_sizes(g, ranks, seed);
        int special = seed % 4 ? 0 : 20;  // NaN, infinities and the like
        // Inputs depend on the global index alone, so that an argument that became a slice has its
        // part of the same values.
        RunResult before = interpret(g, ranks, random_inputs(g, sizes, ranks, seed, special));
        RunResult after = interpret(s.graph(), ranks, random_inputs(s.graph(), sizes, ranks, seed, special));
        for (auto &[name, tensors] : before.arguments)
            for (int r = 0; r < ranks; r++) {
                elements += tensors[size_t(r)].count();
                if (!same_elements(tensors[size_t(r)], after.arguments.at(name)[size_t(r)]))
                    FAIL_CHECK("seed " << seed << ": " << name << " differs on rank " << r << " of "
                                       << ranks << "\n"
                                       << to_string(g) << s.text());
            }
    }
    std::printf("%llu programs, %lld elements; verbs accepted, refused:",
                static_cast<unsigned long long>(programs), static_cast<long long>(elements));
    for (auto &verb : verb_names()) {
        std::printf(" %s %d, %d;", verb.c_str(), counts.accepted[verb], counts.refused[verb]);
        CHECK_MESSAGE(counts.accepted[verb] > 0, verb << " was never legal");
    }
    std::printf("\n");
    CHECK(elements > 10000);
}
