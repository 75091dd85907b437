// The stages of a lowering as pseudo-code for people: loops with ranks, what is loaded from whom, where ranks wait.
#pragma once
#include "lower/lowering.h"

namespace stretto {

//     for i in slice of n:
//         gsum.rs(i) = sum over ranks r of cast<float>(g@r(i))
//         avg(i) = gsum.rs(i) / cast<float>(ranks())
//         store p1(i) to p of every rank
std::string loop_nest(const Lowering &);

}  // namespace stretto
