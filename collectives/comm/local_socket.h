// Unix sockets by which the processes of a job find each other and hand over file descriptors.
// Abstract names: nothing is left in a file system. Messages keep their boundaries.
#pragma once
#include <string>
#include <vector>

#include "collectives/base/fd.h"

namespace stretto::runtime {

// All return 0 or a stretto_status with the text set. Deadlines are in seconds_now()'s time.

// Refuses a name that somebody listens at already with STRETTO_INVALID.
int listen_at(const std::string &name, Fd *listener);

// Tries until there is a listener; STRETTO_TIMEOUT without a text of its own if there is none.
int connect_to(const std::string &name, double deadline, Fd *socket);

// Is the process at the other end this user's? STRETTO_INVALID with both user ids if not.
int check_peer_user(const Fd &socket);

int send_message(const Fd &socket, const void *data, size_t bytes, const std::vector<int> &descriptors);

// Exactly `bytes` and `descriptors` descriptors, else STRETTO_SYSTEM. STRETTO_TIMEOUT at the
// deadline, STRETTO_PEER_LOST if the other end has closed; both without a text of their own.
int receive_message(const Fd &socket, void *data, size_t bytes, size_t descriptors, std::vector<Fd> *received,
                    double deadline);

}  // namespace stretto::runtime
