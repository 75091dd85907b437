// Where values live: arguments in the caller's memory, results in place where that is legal, the rest in scratch.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Sets l.buffers and the buffers of all accesses. A result is stored straight into its argument when every read of the
// argument's value at entry is over by then, or is a read of the same element by the same sweep and not through another rank;
// the sweep then updates the element. Where it is not, a stage that copies the value is added at the end. (Scratch whose
// lifetimes are apart shares memory: the runtime sees to that, since it knows the sizes.)
void assign_storage(Lowering &, std::vector<Stage> &);

}  // namespace stretto
