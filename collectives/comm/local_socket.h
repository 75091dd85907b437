// Unix sockets by which the processes of a job find each other and hand over file descriptors.
// Abstract names: nothing is left in a file system. Messages keep their boundaries.
#pragma once
#include <string>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/fd.h"

namespace stretto::runtime {

// All return 0 or a stretto_status with the text set. No function waits past its deadline, whatever the other end does.

// A name stands for so many, tried in this order: who listens at some of them first is passed by, unless it is this user's.
constexpr int most_names = 64;
std::string name_of_try(const std::string &name, int i);

// Refuses a name that this user listens at already with STRETTO_INVALID.
int listen_at(const std::string &name, Fd *listener);

// Tries until this user listens there; STRETTO_TIMEOUT without a text of its own if it does not.
int connect_to(const std::string &name, Deadline &deadline, Fd *socket);

// Is the process at the other end this user's?
bool is_own_user(const Fd &socket);

// STRETTO_TIMEOUT at the deadline, without a text of its own: the other end does not read.
int send_message(const Fd &socket, const void *data, size_t bytes, const std::vector<int> &descriptors,
                 Deadline &deadline);

// Exactly `bytes` and `descriptors` descriptors, else STRETTO_SYSTEM. STRETTO_TIMEOUT at the
// deadline, STRETTO_PEER_LOST if the other end has closed; both without a text of their own.
int receive_message(const Fd &socket, void *data, size_t bytes, size_t descriptors, std::vector<Fd> *received,
                    Deadline &deadline);

}  // namespace stretto::runtime
