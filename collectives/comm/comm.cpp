#include "collectives/comm/comm.h"

#include <pthread.h>

#include <cstring>
#include <new>
#include <vector>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "collectives/base/error.h"

namespace stretto::runtime {
namespace {

std::atomic<uint32_t> generation{0};

// Registered when the library is loaded: a child that was forked before its parent made a
// communicator is fine either way.
const int registered = pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

int null_handle(const char *operation) { return set_error(STRETTO_INVALID, "%s: the communicator is null", operation); }

// Is it a handle of this process? 0, or a status with the text set.
int check_handle(const stretto_comm_t *comm, const char *operation) {
    if (!comm) return null_handle(operation);
    if (comm->fork_generation == fork_generation()) return STRETTO_OK;
    return set_error(STRETTO_FORKED,
                     "%s: the communicator of rank %d belongs to the parent process; a forked child must make its own",
                     operation, comm->transport->rank());
}

// Describes a call that takes no data, so that ranks which disagree on what they call are told.
Descriptor describe(const stretto_comm_t *comm, const char *name) {
    Descriptor d;
    strncpy(d.name, name, sizeof d.name - 1);
    d.program = hash_bytes(d.name, sizeof d.name);
    d.sequence = comm->sequence;
    d.hash = hash_bytes(&d.sequence, sizeof d.sequence, d.program);
    return d;
}

}  // namespace

uint32_t fork_generation() {
    (void)registered;
    return generation.load(std::memory_order_relaxed);
}

CommUse::CommUse(stretto_comm_t *comm, const char *operation) : status_(check_handle(comm, operation)) {
    if (status_) return;
    if (!(comm->use.fetch_or(stretto_comm_t::Inside, std::memory_order_acquire) & stretto_comm_t::Inside)) comm_ = comm;
    else
        status_ = set_error(STRETTO_BUSY,
                            "%s: the communicator of rank %d is inside another call; one thread may use a handle at a time",
                            operation, comm->transport->rank());
}

CommUse::~CommUse() {
    if (!comm_) return;
    if (comm_->use.fetch_and(~stretto_comm_t::Inside, std::memory_order_acq_rel) & stretto_comm_t::Freed) delete comm_;
}

uint32_t floating_point_mode() {
#if defined(__SSE__)
    // What changes results: flush to zero, denormals are zero, rounding. Not which exceptions trap, and which have occurred.
    return _mm_getcsr() & (0x8000 | 0x0040 | 0x6000);
#else
    return 0;
#endif
}

}  // namespace stretto::runtime

using namespace stretto::runtime;

stretto_comm_t::stretto_comm_t(std::unique_ptr<Transport> t)
    : transport(std::move(t)), fork_generation(stretto::runtime::fork_generation()) {}

extern "C" {

void stretto_comm_free(stretto_comm_t *comm) {
    if (!comm) return;
    if (comm->fork_generation != fork_generation()) return;  // the parent's: its peers must not see it leave
    if (comm->use.fetch_or(stretto_comm_t::Freed, std::memory_order_acq_rel) & stretto_comm_t::Inside)
        set_error(STRETTO_BUSY, "stretto_comm_free: the communicator is inside a call; it is freed when that ends");
    else delete comm;
}

int stretto_comm_rank(const stretto_comm_t *comm) {
    return comm ? comm->transport->rank() : null_handle("stretto_comm_rank");
}

int stretto_comm_ranks(const stretto_comm_t *comm) {
    return comm ? comm->transport->ranks() : null_handle("stretto_comm_ranks");
}

int stretto_comm_sub(stretto_comm_t *parent, const int *ranks, int count, stretto_comm_t **comm) {
    CommUse use(parent, "stretto_comm_sub");
    if (use.status()) return use.status();
    Transport &t = *parent->transport;
    std::vector<bool> seen(static_cast<size_t>(t.ranks()));
    if (count < 1 || count > t.ranks())
        return set_error(STRETTO_INVALID, "stretto_comm_sub: %d of %d ranks", count, t.ranks());
    if (!ranks || !comm) return set_error(STRETTO_INVALID, "stretto_comm_sub: %s is null", ranks ? "comm" : "ranks");
    for (int i = 0; i < count; i++) {
        if (ranks[i] < 0 || ranks[i] >= t.ranks()) {
            return set_error(STRETTO_INVALID, "stretto_comm_sub: rank %d is in the list; there are %d ranks", ranks[i],
                             t.ranks());
        }
        if (seen[size_t(ranks[i])])
            return set_error(STRETTO_INVALID, "stretto_comm_sub: rank %d is twice in the list", ranks[i]);
        seen[size_t(ranks[i])] = true;
    }
    if (!seen[size_t(t.rank())]) {
        return set_error(STRETTO_INVALID,
                         "stretto_comm_sub: this rank, %d, is not in the list; only those that are call", t.rank());
    }
    try {
        std::unique_ptr<Transport> made;
        if (int status = t.sub(std::vector<int>(ranks, ranks + count), &made)) return status;
        *comm = new stretto_comm_t(std::move(made));
    } catch (const std::bad_alloc &) {
        return t.fail(STRETTO_NO_MEMORY, "stretto_comm_sub: no memory for a communicator");
    }
    return STRETTO_OK;
}

int stretto_barrier(stretto_comm_t *comm) {
    CommUse use(comm, "stretto_barrier");
    if (use.status()) return use.status();
    Descriptor d = describe(comm, "barrier");
    comm->sequence++;
    comm->stats.barriers++;
    // An enter is a barrier, and the next one writes the other descriptor: nobody has to wait a second time.
    if (int status = comm->transport->enter(d, nullptr, 0)) return status;
    return comm->transport->leave(false);
}

void *stretto_malloc(stretto_comm_t *comm, size_t bytes, size_t align) {
    if (check_handle(comm, "stretto_malloc")) return nullptr;
    if (align & (align - 1)) {
        set_error(STRETTO_INVALID, "stretto_malloc: alignment %zu is no power of two", align);
        return nullptr;
    }
    try {
        return comm->transport->allocate(bytes, align ? align : 64);
    } catch (const std::bad_alloc &) {
        set_error(STRETTO_NO_MEMORY, "stretto_malloc: no memory for its own books");
        return nullptr;
    }
}

void stretto_free(stretto_comm_t *comm, void *data) {
    if (comm && data && comm->fork_generation == fork_generation()) comm->transport->release(data);
}

int stretto_owns(const stretto_comm_t *comm, const void *data) { return comm && data && comm->transport->owns(data); }

void stretto_slice(int64_t n, int rank, int ranks, int64_t *begin, int64_t *end) {
    if (n < 0 || ranks < 1 || rank < 0 || rank >= ranks) {
        *begin = *end = 0;
        return;
    }
    // 128-bit products: n * ranks may pass 2^63.
    auto cut = [&](int64_t k) { return int64_t(__int128(n) * k / ranks); };
    *begin = cut(rank);
    *end = cut(int64_t(rank) + 1);
}

int stretto_get_stats(const stretto_comm_t *comm, stretto_stats *stats) {
    if (!comm) return null_handle("stretto_get_stats");
    if (!stats) return set_error(STRETTO_INVALID, "stretto_get_stats: stats is null");
    *stats = comm->stats;
    return STRETTO_OK;
}

void stretto_reset_stats(stretto_comm_t *comm) {
    if (comm) comm->stats = stretto_stats{};
}

}  // extern "C"
