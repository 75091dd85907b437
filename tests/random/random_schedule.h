// Random legal schedules, for tests: random verbs on random nodes, of which the legal ones are kept.
#pragma once
#include <random>
#include "schedule/schedule.h"

namespace stretto {

// By verb.
struct VerbCounts {
    std::map<std::string, int> accepted, refused;
};

// A verb of this name that may be legal or not.
Verb random_verb(const Graph &, const std::string &name, uint64_t seed);

// Tries `tries` verbs. The same for the same program, seed and number of tries. counts (may be null) is added to.
Schedule random_schedule(const Program &, uint64_t seed, int tries, VerbCounts *counts = nullptr);

// split, reorder, ...: the keys of VerbCounts, all of them.
const Names &verb_names();

}  // namespace stretto
