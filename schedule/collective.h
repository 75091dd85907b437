// collective(t, algorithm): how an all-reduce is carried out. Time only; the order of the additions stays.
//
//     t = all_reduce(x)   OneShot:    for all i:          t(i) = sum over ranks k of x[k](i)
//                         TwoPhase:   for i in my slice:  t(i) = sum over ranks k of x[k](i), stored to all ranks
//
// Without it lowering chooses by size. s.split is the two-phase form with a place for computation in between.
#pragma once
#include "schedule/nodes.h"

namespace stretto {

inline constexpr Algorithm OneShot = Algorithm::OneShot, TwoPhase = Algorithm::TwoPhase;

struct Collective {
    NodeId tensor;
    Algorithm algorithm;
};

// Legal: t is an all-reduce; TwoPhase: with a dimension, in no Group of several. Throws Error.
Graph apply(const Graph &, const Collective &);
std::string to_string(const Graph &before, const Collective &, const Naming & = name_of);
const std::vector<std::pair<std::string, Algorithm>> &algorithm_names();

}  // namespace stretto
