// Ranks that are threads, beside stretto_comm_threads: for tests of what other ranks do.
#pragma once
#include <stretto/runtime.h>

namespace stretto::runtime {

// They only exchange messages (transport/loopback.h). comms[0..n) receives one handle a rank, each for a thread of its own.
int make_message_comms(int n, stretto_comm_t **comms);

// They pretend to be on two hosts (transport/two_hosts.h).
int make_two_host_comms(int n, stretto_comm_t **comms);

}  // namespace stretto::runtime
