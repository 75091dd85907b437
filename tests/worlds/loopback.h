// The network of ranks that are threads and yet only exchange messages: for tests of algorithms on messages, without MPI.
#pragma once
#include <memory>
#include <vector>

#include "collectives/transport/network.h"

namespace stretto::test {

using runtime::Network;

// One object a rank. A send is done only when its receive has taken the data, so an algorithm that relies on buffering hangs
// here (until STRETTO_TIMEOUT).
// endless: a receive from a rank that has not sent yet cannot be ended, as if that rank were stopped in the middle of it.
std::vector<std::shared_ptr<Network>> make_loopback(int ranks, bool endless = false);

}  // namespace stretto::test
