// Which nodes are computed together.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Sets stages and stage_of. Elementwise nodes of one shape and slice share a sweep where no communication lies between them;
// a communication is a sweep of its own; nodes of one fuse group share a sweep. Reductions over indices are stages of their
// own. A node's stage is never before those of its operands, and after them where it reads another element than its own.
void assign_stages(Lowering &);

// Is n's value needed outside of its stage (as a result, or by another stage)?
bool is_stored(const Lowering &, const Node &n);

}  // namespace stretto
