// The values that a program's outputs and updates take.
#pragma once
#include "lang/graph.h"

namespace stretto {

// Results against their arguments: equal types, extents and layouts, or a replicated value for a local argument. Throws Error.
void check_results(const Graph &);

}  // namespace stretto
