// Ranks that are threads and reach each other in other ways than threads do.
#pragma once
#include <vector>

#include <stretto/runtime.hpp>

namespace stretto::test {

// They only exchange messages (loopback.h). comms[0..n) receives one handle a rank, each for a thread of its own.
int make_message_comms(int n, stretto_comm_t **comms);

// They pretend to be on two hosts, even and odd ones (two_hosts.h).
int make_two_host_comms(int n, stretto_comm_t **comms);

// The same, as stretto::threads() is to stretto_comm_threads().
std::vector<Communicator> message_world(int ranks);
std::vector<Communicator> two_host_world(int ranks);

}  // namespace stretto::test
