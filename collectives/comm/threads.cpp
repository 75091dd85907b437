// Ranks that are threads of one process.
#include <cstdlib>
#include <cstring>
#include <new>

#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/comm/comm.h"
#include "collectives/transport/shared_transport.h"

namespace stretto::runtime {
namespace {

constexpr int most_ranks = 1024;

std::shared_ptr<Control> make_control(int ranks, uint32_t first_epoch) {
    uint64_t bytes = Control::bytes(ranks);
    void *memory = aligned_alloc(alignof(Control), bytes);
    if (!memory) throw std::bad_alloc();
    memset(memory, 0, bytes);
    auto *control = static_cast<Control *>(memory);
    control->ranks = ranks;
    control->usable_cores = usable_cores(allowed_cores());
    for (int q = 0; q < ranks; q++)
        control->line(q).epoch.store(first_epoch, std::memory_order_relaxed);
    return std::shared_ptr<Control>(control, free);
}

}  // namespace
}  // namespace stretto::runtime

using namespace stretto::runtime;

extern "C" int stretto_comm_threads(int n, stretto_comm_t **comms) {
    if (n < 1 || n > most_ranks) {
        return set_error(STRETTO_INVALID,
                         "stretto_comm_threads: %d ranks; between 1 and %d are possible", n,
                         most_ranks);
    }
    if (!comms) return set_error(STRETTO_INVALID, "stretto_comm_threads: comms is null");
    Settings settings;
    if (int status = read_settings(&settings)) return status;
    int made = 0;
    try {
        auto control = make_control(n, settings.first_epoch);
        auto memory = std::make_shared<ThreadMemory>();
        for (; made < n; made++) {
            SharedWorld world;
            world.rank = made;
            world.ranks = n;
            world.control = control;
            world.memory = memory;
            world.settings = settings;
            comms[made] = new stretto_comm_t(std::make_unique<SharedTransport>(std::move(world)));
        }
    } catch (const std::bad_alloc &) {
        while (made > 0) delete comms[--made];
        return set_error(STRETTO_NO_MEMORY, "stretto_comm_threads: no memory for %d ranks", n);
    }
    return STRETTO_OK;
}
