// How processes on one host become the ranks of a world: they meet at an abstract unix socket,
// exchange memory and process handles, and map each other's heaps.
#pragma once
#include <string>

#include "collectives/base/settings.h"
#include "collectives/comm/environment.h"
#include "collectives/transport/lines.h"

namespace stretto::runtime {

// At the socket of that name, the same for all ranks and unguessable, or unique to the job. Waits for all ranks,
// settings.timeout seconds at most. On failure every rank that has come gets the same text. The lines of all its ranks are
// behind the state.
int meet(const Launch &launch, const std::string &name, const Settings &settings, WorldParts *world);

// "stretto-" and 32 hexadecimal digits.
std::string socket_name(const uint64_t token[2]);

}  // namespace stretto::runtime
