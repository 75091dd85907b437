// Where ranks must wait for each other. Derived from accesses, never written by hand.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// Puts a Sync before every item that may clash with what came before it: two accesses of one buffer, one of them a write and
// one another rank's, that may meet at one element (slices of one dimension have none in common). Entering a call is a wait.
// After the call the caller writes the arguments again, and may free the communicator with its scratch, so the last item is a
// Sync where a peer may still be at either.
//
// Which arm of a Choice is taken is not known: what one arm touches may have been touched, and the runtime, which knows, leaves
// a Sync out where nothing clashes (collectives/execute/order.cpp).
void derive_syncs(Lowering &);

}  // namespace stretto
