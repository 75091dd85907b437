// The addends of a reduction over ranks are loaded from the other ranks' memory, so each must be one load of one tensor.
#pragma once
#include "lang/graph.h"

namespace stretto {

// A chain over one tensor travels as that tensor: the owner of an element loads it from every rank and computes there, so a
// cast that widens costs nothing on the wire. Anything else is stored first.
//   h = cast<float>(g); s = all_reduce(h)      ->   s = all_reduce(cast<float>(g(i)))
//   s = all_reduce(a(i) * x(i) + b(i))         ->   s.addend(i) = a(i) * x(i) + b(i); s = all_reduce(s.addend)
Graph settle_addends(Graph);

}  // namespace stretto
