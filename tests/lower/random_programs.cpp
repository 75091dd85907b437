// Random programs under random legal schedules, compiled, against the reference. STRETTO_RANDOM_PROGRAMS=n runs that many
// (default 24), STRETTO_RANDOM_SEED=s begins elsewhere. Prints how often each operation and verb occurred.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
#include <cstdlib>
#include <iostream>
#include "lang/reference/random_inputs.h"
#include "tests/random/random_program.h"
#include "tests/random/random_schedule.h"
#include "tests/worlds/worlds.h"

using namespace stretto;

namespace {

int setting(const char *name, int fallback) {
    const char *s = std::getenv(name);
    return s ? std::atoi(s) : fallback;
}

}  // namespace

TEST_CASE("random programs under random schedules have the reference's bits") {
    int count = setting("STRETTO_RANDOM_PROGRAMS", 24), first = setting("STRETTO_RANDOM_SEED", 1);
    OperationCounts operations;
    VerbCounts verbs;
    const int ranks[] = {1, 2, 3, 4, 5, 8};
    int64_t elements = 0;
    // `count` programs, then those of the next seeds that have an operation or accept a verb that has not occurred yet.
    auto is_new = [&](const RandomProgram &r, const Schedule &s) {
        for (auto &name : operation_names())
            if (!operations[name] && r.operations.count(name) && r.operations.at(name)) return true;
        for (auto &name : verb_names())
            if (!verbs.accepted[name] && s.text().find(name + "(") != std::string::npos) return true;
        return false;
    };
    auto all_seen = [&] {
        for (auto &name : operation_names())
            if (!operations[name]) return false;
        for (auto &name : verb_names())
            if (!verbs.accepted[name]) return false;
        return true;
    };
    for (int i = 0; i < count || (count >= 24 && !all_seen() && i < count + 400); i++) {
        uint64_t seed = uint64_t(first + i);
        INFO("seed " << seed);
        // One in four on messages, one in eight on two hosts, one in four with tensors of several chunks a rank.
        const bool messages = i % 4 == 1, two_hosts = i % 8 == 2, chunks = i % 4 == 3;
        RandomProgramOptions options;
        if (chunks) options.dimensions = 2;
        RandomProgram r = random_program(seed, options);
        Schedule s = random_schedule(r.program, seed, 12, i < count ? &verbs : nullptr);
        if (i >= count) {
            if (!is_new(r, s)) continue;
            s = random_schedule(r.program, seed, 12, &verbs);
        }
        for (auto &[name, n] : r.operations) operations[name] += n;
        CheckOptions o;
        o.ranks = {ranks[i % 6], ranks[(i + 3) % 6]};
        o.sizes = {0, 1, ranks[i % 6] + 1, 37};
        o.world = messages ? test::message_world : two_hosts ? test::two_host_world
                                                             : threads;
        if (chunks) o.ranks = {1 + i / 4 % 3}, o.sizes = {4 * 2048 + 5};
        o.seed = seed;
        o.compile.direct_ranks = {2};
        CheckReport report;
        try {
            report = check(r.program, s, o);
        } catch (const std::exception &e) {
            FAIL("seed " << seed << ": " << std::string(e.what()) << "\n"
                         << to_string(r.program) << s.text());
        }
        CHECK_MESSAGE(report.ok(), "seed " << seed << "\n"
                                           << to_string(r.program) << s.text() << to_string(report));
        for (auto &x : report.outputs) elements += x.elements;
    }
    std::cout << "operations:";
    for (auto &[name, n] : operations) std::cout << " " << name << " " << n;
    std::cout << "\nverbs accepted:";
    for (auto &[name, n] : verbs.accepted) std::cout << " " << name << " " << n;
    std::cout << "\n"
              << elements << " elements compared\n";
    if (count >= 24) {
        for (auto &name : operation_names()) CHECK_MESSAGE(operations[name] > 0, name << " never occurred");
        for (auto &name : verb_names()) CHECK_MESSAGE(verbs.accepted[name] > 0, name << " was never accepted");
    }
}
