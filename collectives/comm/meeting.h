// How processes on one host become the ranks of a world: they meet at an abstract unix socket,
// exchange memory and process handles, and map each other's heaps.
#pragma once
#include <sched.h>

#include <cstdint>
#include <string>

#include <stretto/runtime.h>
#include "collectives/base/settings.h"
#include "collectives/comm/environment.h"
#include "collectives/transport/lines.h"

namespace stretto::runtime {

constexpr uint32_t meeting_protocol = 0x53545203;  // the last byte counts versions

// What ranks say as they meet.
struct MeetingMessage {
    uint32_t magic = meeting_protocol;
    int32_t status = STRETTO_OK, rank = 0, ranks = 0, pid = 0, usable_cores = 1;
    uint64_t stride = 0;
    uint32_t first_epoch = 0;
    cpu_set_t cores = {};
    char text[512] = {};
};

// At the socket of that name, the same for all ranks and unguessable, or unique to the job. Waits for all ranks,
// settings.timeout seconds at most, and as long again until all have mapped each other's heaps. On failure every rank that has
// come gets the same text. The lines of all its ranks are behind the state.
int meet(const Launch &launch, const std::string &name, const Settings &settings, WorldParts *world);

}  // namespace stretto::runtime
