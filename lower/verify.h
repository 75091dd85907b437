// Would this lowering compute what its graph says, on any number of ranks? Its stages are read back: bodies as expressions of
// the graph, accesses by abstract interpretation (which value each buffer holds, and which part of it). Written apart from the
// passes it checks.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// "" if it would; else "RULE: which stage and tensor, and why". Rules:
//   once      every node is computed by exactly one stage, on each path through choices
//   order     a value that a sweep hands on is computed before it is read
//   body      a binding is what the graph says of its node: expression, reduction, rounding
//   region    an access says which elements and whose the body reads or stores
//   slice     a sliced value is read at the own slice, in the own memory
//   stored    a value that another stage reads has a buffer
//   version   a read finds the value it wants, not an older or newer one
//   owner     what goes to every rank is stored by one rank an element
//   race      a sweep that reaches into other ranks' memory touches that buffer otherwise at the own element only
//   in place  what a stage reads and stores in one buffer is one access, of the element that it computes
//   shape     a store covers its buffer as it is placed
//   rides     block sums that ride reduce the loops of the sweep before them, and read what it stores where it does
//   input     inputs are not written
//   barrier   two accesses of a buffer, one of them a write and one a peer's, have a wait between them; a read finds all of its
//             value
//   leave     no peer is at this rank's memory after the call
//   result    every result is in its argument's memory at the end
std::string verify(const Lowering &);

}  // namespace stretto
