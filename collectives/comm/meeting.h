// How processes on one host become the ranks of a world: they meet at an abstract unix socket,
// exchange memory and process handles, and map each other's heaps.
#pragma once
#include <string>

#include "collectives/base/settings.h"
#include "collectives/transport/lines.h"

namespace stretto::runtime {

struct Meeting {
    int rank = 0, ranks = 1;
    std::string name;    // of the socket: the same for all ranks and unguessable, or unique to the job
    std::string origin;  // where rank and ranks come from, for texts: "torchrun: RANK=1, WORLD_SIZE=4"
};

// Waits for all ranks, settings.timeout seconds at most. On failure every rank that has come gets the same text. The
// lines of all its ranks are behind the state.
int meet(const Meeting &meeting, const Settings &settings, WorldParts *world);

// "stretto-" and 32 hexadecimal digits.
std::string socket_name(const unsigned char token[16]);

}  // namespace stretto::runtime
