// Where ranks must wait for each other. Derived, never written by hand.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Two accesses of one buffer need a barrier between them if one writes and one is another rank's. Entering a call is a
// barrier. After the call the caller writes the arguments again, and may free the communicator with its scratch, so a
// barrier at the end is needed where a peer may still be at either. Derived twice: with every all-reduce in one shot (it
// stores to its own rank only), and in two phases (it stores to all).
void derive_barriers(Lowering &);

}  // namespace stretto
