// collective(t, algorithm): how an all-reduce is carried out. Time only; the order of the additions stays.
//
//     t = all_reduce(x)   OneShot:    for all i:          t(i) = sum over ranks k of x[k](i)
//                         TwoPhase:   for i in my slice:  t(i) = sum over ranks k of x[k](i), stored to all ranks
//                         Auto:       one of them, by size, as without this verb
//
// s.split is the two-phase form with a place for computation in between.
#pragma once
#include "schedule/fields.h"

namespace stretto {

inline constexpr Algorithm OneShot = Algorithm::OneShot, TwoPhase = Algorithm::TwoPhase, Auto = Algorithm::Auto;

struct Collective {
    NodeId tensor = -1;
    Algorithm chosen = Auto;

    static constexpr const char *name = "collective";
    static constexpr const char *no_moves = "no collective; there is no all-reduce here that is whole.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.tensor("tensor", v.tensor), f.algorithm("algorithm", v.chosen); }
    static std::vector<Collective> moves(const Graph &);
};

// Legal: t is an all-reduce; TwoPhase: with a dimension, in no Group.
Graph apply(const Graph &, const Collective &);

const std::vector<std::pair<std::string, Algorithm>> &algorithm_names();

}  // namespace stretto
