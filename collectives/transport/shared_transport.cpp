// The normal course: enter, barrier, leave. What happens on failure is in shared_failure.cpp.
#include "collectives/transport/shared_transport.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <climits>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"

namespace stretto::runtime {
namespace {

constexpr uint64_t no_place = UINT64_MAX;

// A waiter with a core of its own spins, 0.1 ms, then yields, so that others get the core, then sleeps: being woken takes
// 50 us in a virtual machine, as long as a step over a megabyte. If there are fewer cores than ranks, or the peer was last
// seen on the waiter's core, spinning would keep it from arriving. Measured with 8 ranks on 2 cores: 6.1 us a barrier with
// 50 yields before sleeping, 4 ms with spinning alone.
constexpr int spins = 2000, yields_without_a_core = 50;
// On a machine that is busy with others a yield lasts a time slice, and a dead peer would be noticed
// after fifty of them: 170 ms, measured at a load of 11 on 2 cores. A sleeper is woken in time.
constexpr double longest_yielding = 1e-3;  // seconds
constexpr long tick_nanoseconds = 20'000'000;

// Not FUTEX_PRIVATE: the word may be shared between processes.
void sleep_on(std::atomic<uint32_t> &word, uint32_t seen) {
    timespec tick{0, tick_nanoseconds};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &tick, nullptr, 0);
}

void wake(std::atomic<uint32_t> &word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

uint32_t this_core() { return uint32_t(sched_getcpu() + 1); }

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

SharedTransport::SharedTransport(SharedWorld world)
    : world_(std::move(world)),
      control_(*world_.control),
      lines_(&control_.line(0)),
      pages_(&control_.page(0)),
      own_core_(world_.ranks <= control_.usable_cores),
      epoch_(world_.settings.first_epoch),
      enters_(world_.settings.first_epoch) {
    for (int q = 0; q < world_.ranks; q++) windows_.push_back(world_.memory->window(q));
}

SharedTransport::~SharedTransport() {
    page(rank()).inside.store(0, std::memory_order_seq_cst);
    page(rank()).gone.store(1, std::memory_order_seq_cst);
    wake(line(rank()).epoch);
}

bool SharedTransport::reachable(const void *data, uint64_t bytes) const {
    return bytes == 0 || world_.memory->reachable(data, bytes);
}

int SharedTransport::enter(const Descriptor &descriptor, const Place *places, int count) {
    if (aborted()) return broken();
    if (count < 0 || count > max_places) {
        return fail(STRETTO_INVALID, "more than 64 buffers in one call can be reached by peers");
    }
    // A peer may still read what the last enter published, but nothing older: it signalled this
    // rank's last enter after it was done with the one before. Hence two of everything, in turn.
    parity_ = int(enters_++ & 1);
    count_ = count;
    barriers_ = 0;
    Line &mine = line(rank());
    Page &details = page(rank());
    details.descriptor[parity_] = descriptor;
    details.count[parity_] = count;
    mine.hash[parity_] = descriptor.hash;
    for (int i = 0; i < count; i++) {
        const char *data = static_cast<const char *>(places[i].data);
        uint64_t value = no_place;
        if (data && places[i].bytes) {
            if (!world_.memory->reachable(data, places[i].bytes)) {
                return fail(
                    STRETTO_INVALID,
                    "a buffer that peers are to reach is not in the heap of stretto_malloc");
            }
            value = uint64_t(data) - uint64_t(windows_[rank()]);
        }
        (i < near_places ? mine.place[parity_] : details.place[parity_])[i] = value;
        details.bytes[parity_][i] = value == no_place ? 0 : places[i].bytes;
    }
    // Seen by whoever sees the signal: from there on this rank has to be waited for before its
    // peers give up their memory.
    details.inside.store(1, std::memory_order_relaxed);
    signal();
    bool same = true;
    for (int i = 1, q = rank(); i < ranks(); i++) {
        if (++q == ranks()) q = 0;
        if (!here(q)) {
            if (int status = wait(q)) return status;
        }
        same &= line(q).hash[parity_] == descriptor.hash;
    }
    // A failure that came first must be seen before any memory of a peer is touched: that peer may
    // have left because of it.
    if (aborted()) return broken();
    return same ? STRETTO_OK : mismatch();
}

void *SharedTransport::at(int peer, int place) const {
    if (place < 0 || place >= count_) return nullptr;
    uint64_t value =
        (place < near_places ? line(peer).place[parity_] : page(peer).place[parity_])[place];
    return value == no_place ? nullptr : reinterpret_cast<void *>(uint64_t(windows_[peer]) + value);
}

int SharedTransport::barrier() {
    barriers_++;
    signal();
    for (int i = 1, q = rank(); i < ranks(); i++) {
        if (++q == ranks()) q = 0;
        if (here(q)) continue;
        if (int status = wait(q)) return status;
    }
    return aborted() ? broken() : STRETTO_OK;
}

int SharedTransport::leave(bool wait) {
    int status = wait ? barrier() : STRETTO_OK;
    page(rank()).inside.store(0, std::memory_order_release);
    return status;
}

// The exchange is a full barrier: it orders the signal before the look at `sleepers`, as a waiter
// orders its entry there before its last look at the epoch. One of the two sees the other.
void SharedTransport::signal() {
    Line &mine = line(rank());
    mine.core.store(this_core(), std::memory_order_relaxed);
    mine.epoch.exchange(++epoch_, std::memory_order_seq_cst);
    if (mine.sleepers.load(std::memory_order_seq_cst)) wake(mine.epoch);
}

// Until the peer has signalled as often as this rank.
int SharedTransport::wait(int peer) {
    Line &theirs = line(peer);
    const uint32_t core = theirs.core.load(std::memory_order_relaxed);
    const bool shared = core && core == this_core();
    for (int i = 1; own_core_ && !shared && i <= spins; i++) {
        if (here(peer)) return STRETTO_OK;
        if (i % 64 == 0 && aborted()) return broken();
        pause();
    }
    double since = seconds_now();
    for (int i = 0; own_core_ || i < yields_without_a_core; i++) {
        if (here(peer)) return STRETTO_OK;
        if (aborted()) return broken();
        sched_yield();
        if (seconds_now() - since > longest_yielding) break;
    }
    for (;;) {
        theirs.sleepers.fetch_add(1, std::memory_order_seq_cst);
        uint32_t seen = theirs.epoch.load(std::memory_order_seq_cst);
        if (!reached(seen, epoch_) && !aborted()) sleep_on(theirs.epoch, seen);
        theirs.sleepers.fetch_sub(1, std::memory_order_seq_cst);
        if (here(peer)) return STRETTO_OK;
        if (aborted()) return broken();
        if (int status = check_peers(since)) return status;
    }
}

void *SharedTransport::allocate(uint64_t bytes, uint64_t align) {
    drain_quarantine();
    return world_.memory->allocate(bytes, align);
}

Request SharedTransport::send(int, int, const void *, uint64_t) { return Request{this}; }
Request SharedTransport::receive(int, int, void *, uint64_t) { return Request{this}; }

int SharedTransport::progress(Request *requests, int count, bool) {
    for (int i = 0; i < count; i++) {
        if (requests[i].impl) {
            return set_error(
                STRETTO_INVALID,
                "ranks that share memory exchange no messages: shared() is true, use at()");
        }
    }
    return poll();
}

}  // namespace stretto::runtime
