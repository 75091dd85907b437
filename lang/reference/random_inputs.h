// Inputs for a graph, drawn at random: for random tests and for --check.
#pragma once
#include "lang/reference/reference.h"

namespace stretto {

// A value for every argument but Outputs. Elements differ between indices and, where the layout
// lets them, between ranks; they do not depend on how many ranks there are, except that a rank more
// adds its own addend or local value. They lie in the argument's range, else: floats in [-1, 1],
// integers from -100 (unsigned: 0) to 100, float scalars in [0.1, 0.9] and integer scalars from 1
// to 9. special_percent of the elements of float tensors without a range are NaN, infinities, zeros
// of both signs, and numbers at the ends of the type's range instead.
// Scalars are drawn so that the requirements hold, if a few hundred draws find such: from their ranges, also all from one
// number; those without a range also from [-10^k, 10^k].
RunInputs random_inputs(const Graph &, const std::map<std::string, int64_t> &sizes, int ranks,
                        uint64_t seed, int special_percent = 0);

// The scalars alone.
RunInputs random_scalars(const Graph &, const std::map<std::string, int64_t> &sizes, int ranks, uint64_t seed);

}  // namespace stretto
