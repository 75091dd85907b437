// Where values live: arguments in the caller's memory, results in place where that is legal, the rest in scratch.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Sets buffers, buffer_of and the stages' stores. A result is stored straight into its argument when every read of the
// argument's value at entry is over by then, or is a read of the same element by the same sweep and not through another
// rank. Where it is not, a copy node `p.store` is added that runs last (stages are assigned again).
void assign_storage(Lowering &);

}  // namespace stretto
