// Ranks that are threads and yet only exchange messages: for tests of algorithms on messages,
// without MPI.
#pragma once
#include <stretto/runtime.h>

namespace stretto::runtime {

// comms[0..n) receives one handle a rank, each to be used by a thread of its own. A send is done
// only when its receive has taken the data, so an algorithm that relies on buffering hangs here
// (until STRETTO_TIMEOUT).
int make_message_comms(int n, stretto_comm_t **comms);

}  // namespace stretto::runtime
