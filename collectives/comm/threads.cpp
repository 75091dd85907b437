#include "collectives/comm/threads.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/comm/comm.h"
#include "collectives/transport/loopback.h"
#include "collectives/transport/message_transport.h"
#include "collectives/transport/shared_transport.h"
#include "collectives/transport/two_hosts.h"

namespace stretto::runtime {
namespace {

// And behind it the lines of all.
std::shared_ptr<WorldState> make_state(int ranks, uint32_t first_epoch) {
    uint64_t bytes = WorldState::bytes(ranks) + Lines::bytes(ranks);
    void *memory = aligned_alloc(alignof(WorldState), bytes);
    if (!memory) throw std::bad_alloc();
    memset(memory, 0, bytes);
    auto *state = static_cast<WorldState *>(memory);
    state->usable_cores = usable_cores(allowed_cores());
    Lines::make(lines_of_all(*state, ranks), ranks, first_epoch);
    return std::shared_ptr<WorldState>(state, free);
}

}  // namespace

int make_message_comms(int n, stretto_comm_t **comms) {
    if (n < 1 || !comms) return set_error(STRETTO_INVALID, "make_message_comms: %d ranks", n);
    Settings settings;
    if (int status = read_settings(&settings)) return status;
    for (auto &network : make_loopback(n)) {
        auto world = std::make_shared<MessageWorld>(network, settings, false);
        *comms++ = new stretto_comm_t(std::make_unique<MessageTransport>(world));
    }
    return STRETTO_OK;
}

int make_two_host_comms(int n, stretto_comm_t **comms) {
    Settings settings;
    std::vector<stretto_comm_t *> far(size_t(std::max(n, 0)));
    if (int status = read_settings(&settings)) return status;
    if (int status = stretto_comm_threads(n, comms)) return status;
    if (int status = make_message_comms(n, far.data())) return status;
    for (int r = 0; r < n; r++) {
        comms[r]->transport =
            make_two_hosts(std::move(comms[r]->transport), std::move(far[size_t(r)]->transport), settings.timeout);
        delete far[size_t(r)];
    }
    return STRETTO_OK;
}

}  // namespace stretto::runtime

using namespace stretto::runtime;

extern "C" int stretto_comm_threads(int n, stretto_comm_t **comms) {
    if (n < 1 || n > most_ranks) {
        return set_error(STRETTO_INVALID, "stretto_comm_threads: %d ranks; between 1 and %d are possible", n,
                         most_ranks);
    }
    if (!comms) return set_error(STRETTO_INVALID, "stretto_comm_threads: comms is null");
    Settings settings;
    if (int status = read_settings(&settings)) return status;
    int made = 0;
    try {
        auto state = make_state(n, settings.first_epoch);
        auto memory = std::make_shared<ThreadMemory>();
        for (; made < n; made++) {
            auto world = std::make_shared<World>(WorldParts{made, n, state, memory, {}, {}, settings});
            comms[made] = new stretto_comm_t(std::make_unique<SharedTransport>(world, lines_of_all(*state, n)));
        }
    } catch (const std::bad_alloc &) {
        while (made > 0) delete comms[--made];
        return set_error(STRETTO_NO_MEMORY, "stretto_comm_threads: no memory for %d ranks", n);
    }
    return STRETTO_OK;
}
