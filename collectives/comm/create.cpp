// Worlds of one host: threads, or processes that find each other by their launcher's environment or the caller's all-gather.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include <sys/random.h>

#include "collectives/base/cores.h"
#include "collectives/base/error.h"
#include "collectives/comm/comm.h"
#include "collectives/comm/meeting.h"
#include "collectives/transport/shared_transport.h"

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

int make(const Launch &launch, const std::string &name, stretto_comm_t **comm) {
    // One rank has no peers: any memory is good, as among threads.
    if (launch.ranks == 1) return stretto_comm_threads(1, comm);
    if (launch.ranks > most_ranks) {
        return set_error(STRETTO_INVALID, "%s: at most %d ranks are possible on a host", launch.origin.c_str(),
                         most_ranks);
    }
    Settings settings;
    if (int status = read_settings(&settings)) return status;
    try {
        WorldParts parts;
        if (int status = meet(launch, name, settings, &parts)) return status;
        Lines *lines = lines_of_all(*parts.state, parts.ranks);
        *comm = new stretto_comm_t(std::make_unique<SharedTransport>(std::make_shared<World>(std::move(parts)), lines));
    } catch (const std::bad_alloc &) {
        return set_error(STRETTO_NO_MEMORY, "%s: no memory for a communicator", launch.origin.c_str());
    }
    return STRETTO_OK;
}

// What a rank tells the others through the caller's all-gather.
struct Card {
    uint64_t token[2];
    uint64_t host;  // of the running system and its network namespace, in which abstract sockets live
    int32_t rank, ranks;
};

uint64_t host_hash() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    struct stat space {};
    if (stat("/proc/self/ns/net", &space) == 0) id += " " + std::to_string(space.st_ino);
    return hash_bytes(id.data(), id.size());
}

int check_cards(const std::vector<Card> &cards) {
    for (int q = 0; q < int(cards.size()); q++) {
        const Card &c = cards[size_t(q)];
        if (c.ranks != int(cards.size())) {
            return set_error(STRETTO_INVALID,
                             "stretto_comm_create: rank %d was told that there are %d ranks, this one that there are %d",
                             q, int(c.ranks), int(cards.size()));
        }
        if (c.rank != q) {
            return set_error(STRETTO_INVALID,
                             "stretto_comm_create: place %d of the all-gather is from rank %d; it must be in rank order, "
                             "each rank once",
                             q, int(c.rank));
        }
        if (c.host != cards[0].host) {
            return set_error(STRETTO_INVALID,
                             "stretto_comm_create: ranks 0 and %d are on different hosts (or network namespaces); "
                             "use stretto_comm_from_mpi there",
                             q);
        }
    }
    return STRETTO_OK;
}

}  // namespace
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
            auto world = std::make_shared<World>(WorldParts{made, n, state, memory, {}, settings});
            comms[made] = new stretto_comm_t(std::make_unique<SharedTransport>(world, lines_of_all(*state, n)));
        }
    } catch (const std::bad_alloc &) {
        while (made > 0) delete comms[--made];
        return set_error(STRETTO_NO_MEMORY, "stretto_comm_threads: no memory for %d ranks", n);
    }
    return STRETTO_OK;
}

extern "C" int stretto_comm_create(int rank, int ranks, stretto_allgather_fn allgather, void *context,
                                   stretto_comm_t **comm) {
    if (!comm || !allgather) {
        return set_error(STRETTO_INVALID, "stretto_comm_create: %s is null", comm ? "allgather" : "comm");
    }
    if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks) {
        return set_error(STRETTO_INVALID, "stretto_comm_create: rank %d of %d ranks; legal are 1 to %d ranks, numbered from 0",
                         rank, ranks, most_ranks);
    }
    Card mine{};
    if (getrandom(mine.token, sizeof mine.token, 0) != ssize_t(sizeof mine.token)) return set_system_error("getrandom");
    mine.host = host_hash();
    mine.rank = rank;
    mine.ranks = ranks;
    std::vector<Card> cards(static_cast<size_t>(ranks));
    if (int code = allgather(context, &mine, cards.data(), sizeof mine)) {
        return set_error(STRETTO_SYSTEM, "stretto_comm_create: the caller's all-gather returned %d", code);
    }
    if (int status = check_cards(cards)) return status;
    const std::string origin = "stretto_comm_create: rank " + std::to_string(rank) + " of " + std::to_string(ranks);
    return make({"", rank, ranks, origin, ""}, socket_name(cards[0].token), comm);
}

extern "C" int stretto_comm_from_env(stretto_comm_t **comm) {
    if (!comm) return set_error(STRETTO_INVALID, "stretto_comm_from_env: comm is null");
    Launch launch;
    if (int status = read_launch(&launch)) return status;
    // A process may make several communicators, all ranks in the same order: each gets a name of its own.
    static std::atomic<unsigned> made{0};
    return make(launch, public_name(launch, made.fetch_add(1)), comm);
}
