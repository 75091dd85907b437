// Ranks that are threads of one process and pretend to be on two hosts, even and odd ones: within a host they reach each other
// by address, between hosts by messages. For tests of programs in which both occur.
#pragma once
#include <memory>

#include "collectives/transport/transport.h"

namespace stretto::test {

using runtime::Transport;

// near: agreement, memory and failure of all ranks, which share memory in truth; far: the same ranks', for messages. Of two
// ranks both are on one host. No communicator of some of its ranks can be made.
std::unique_ptr<Transport> make_two_hosts(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far,
                                          double timeout);

}  // namespace stretto::test
