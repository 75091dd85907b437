// Would this lowering compute what its graph says, on any number of ranks? By abstract interpretation: which value each
// buffer holds, and which part of it, stage by stage. Written apart from the passes it checks.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// "" if it would; else "RULE: which stage and tensor, and why". Rules:
//   once      every node is computed by exactly one stage
//   order     a value that a sweep hands on is computed before it is read, and read at its own element
//   stored    a value that another stage reads has a buffer
//   version   a read finds the value it wants, not an older or newer one
//   complete  a read finds all of it
//   owner     what goes to every rank is stored by one rank an element
//   race      a sweep that reaches into other ranks' memory touches that buffer otherwise at the own element only
//   in place  a kernel reads its own output if and only if the plan says so
//   shape     a store covers its buffer as it is placed
//   input     inputs are not written
//   peers     buffers that other ranks reach are marked
//   barrier   two accesses of a buffer, one of them a write and one a peer's, have a barrier between them
//   leave     no peer is at this rank's memory after the call
//   result    every result is in its argument's memory at the end
std::string verify(const Lowering &);

}  // namespace stretto
