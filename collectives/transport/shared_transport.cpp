// The normal course: enter, barrier, leave. What happens on failure is in shared_failure.cpp.
#include "collectives/transport/shared_transport.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/transport/mismatch.h"

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

void wake(std::atomic<uint32_t> &word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

uint32_t this_core() { return uint32_t(sched_getcpu() + 1); }

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

SharedTransport::SharedTransport(std::shared_ptr<World> world, Lines *lines)
    : SharedTransport(world, lines, all_ranks(world->ranks()), false) {}

SharedTransport::SharedTransport(std::shared_ptr<World> world, Lines *lines, std::vector<int> members,
                                 bool lines_on_heap)
    : world_(std::move(world)),
      members_(std::move(members)),
      rank_(int(std::find(members_.begin(), members_.end(), world_->rank()) - members_.begin())),
      ranks_(int(members_.size())),
      lines_(*lines),
      lines_on_heap_(lines_on_heap),
      line_(&lines->line(0)),
      page_(&lines->page(0)),
      use_(std::make_shared<Use>(page(rank_))),
      epoch_(world_->settings().first_epoch),
      enters_(epoch_) {
    for (int q : members_) windows_.push_back(world_->memory().window(q));
}

// What peers may still read is given back when they are gone.
SharedTransport::~SharedTransport() {
    page(rank()).inside.store(0, std::memory_order_seq_cst);
    page(rank()).gone.store(1, std::memory_order_seq_cst);
    wake(line(rank()).epoch);
    auto one_without = [world = world_.get(), lines = &lines_, members = members_](std::atomic<uint32_t> Page::*flag) {
        for (size_t q = 0; q < members.size(); q++)
            if (!(lines->page(int(q)).*flag).load(std::memory_order_acquire) && !world->ended(members[q])) return true;
        return false;
    };
    for (Table &table : tables_)
        if (table.values)
            world_->release_when_unused(table.values, [one_without, use = use_] { return one_without(&Page::gone); });
    use_.reset();
    if (lines_on_heap_ && rank() == 0)
        world_->release_when_unused(&lines_, [one_without] { return one_without(&Page::done); });
}

template <class Arrived>
int SharedTransport::wait_for_all(Arrived arrived) {
    std::optional<Deadline> deadline;  // for all of them together
    for (int i = 1, q = rank(); i < ranks(); i++) {
        if (++q == ranks()) q = 0;
        if (!here(q))
            if (int status = wait(q, deadline)) return status;
        arrived(q);
    }
    return world_->aborted() ? broken() : STRETTO_OK;
}

int SharedTransport::enter(const Descriptor &descriptor, const Place *places, int count) {
    if (world_->aborted()) return broken();
    // A peer may still read what the last enter published, but nothing older: it signalled this rank's last enter after it
    // was done with the one before. Hence two of everything, in turn.
    parity_ = int(enters_++ & 1);
    barriers_ = 0;
    Page &mine = page(rank());
    mine.descriptor[parity_] = descriptor;
    if (descriptor.refusal) snprintf(mine.refusal, sizeof mine.refusal, "%s", descriptor.refusal);
    if (int status = publish(places, count)) return status;
    // Seen by whoever sees the signal: from there on this rank has to be waited for before its peers give up their memory.
    mine.inside.store(1, std::memory_order_relaxed);
    line(rank()).hash[parity_] = descriptor.hash;
    signal();
    // A failure that came first is seen before any memory of a peer is touched: that peer may have left because of it.
    bool same = true;
    if (int status = wait_for_all([&](int q) { same &= line(q).hash[parity_] == descriptor.hash; })) return status;
    return same ? STRETTO_OK : mismatch();
}

// The address table of the call: its beginning in the line, the rest where peers reach it.
int SharedTransport::publish(const Place *places, int count) {
    count_ = count;
    published_[parity_].assign(places, places + count);
    Table &table = tables_[parity_];
    if (count - near_places > table.room) {
        if (table.values) world_->release(table.values);
        table = {};
        void *memory = world_->allocate(uint64_t(count) * sizeof(uint64_t), 64);
        if (!memory) return fail(STRETTO_NO_MEMORY, std::string(last_error()).c_str());
        table = {static_cast<uint64_t *>(memory), count};
        page(rank()).table[parity_] = value_of(memory);
    }
    for (int i = 0; i < count; i++) {
        uint64_t value = no_place;
        if (places[i].data && places[i].bytes) {
            if (!world_->memory().reachable(places[i].data, places[i].bytes))
                return fail(STRETTO_INVALID, "a buffer that peers are to reach is not in the heap of stretto_malloc");
            value = value_of(places[i].data);
        }
        (i < near_places ? line(rank()).place[parity_][i] : table.values[i - near_places]) = value;
    }
    return STRETTO_OK;
}

void *SharedTransport::at(int peer, int place) const {
    if (place < 0 || place >= count_) return nullptr;
    uint64_t value = place < near_places
                         ? line(peer).place[parity_][place]
                         : reinterpret_cast<uint64_t *>(address(peer, page(peer).table[parity_]))[place - near_places];
    return value == no_place ? nullptr : address(peer, value);
}

int SharedTransport::barrier() {
    barriers_++;
    signal();
    return wait_for_all([](int) {});
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

// Until the peer has signalled as often as this rank. The clock is first read when that takes long.
int SharedTransport::wait(int peer, std::optional<Deadline> &deadline) {
    Line &theirs = line(peer);
    const uint32_t core = theirs.core.load(std::memory_order_relaxed);
    const bool shared = core && core == this_core(), own_core = world_->cores_for_all();
    for (int i = 1; own_core && !shared && i <= spins; i++) {
        if (here(peer)) return STRETTO_OK;
        if (i % 64 == 0 && world_->aborted()) return broken();
        pause();
    }
    if (!deadline) deadline.emplace(world_->settings().timeout);
    const double since = seconds_now();
    for (int i = 0; own_core || i < yields_without_a_core; i++) {
        if (here(peer)) return STRETTO_OK;
        if (world_->aborted()) return broken();
        sched_yield();
        if (seconds_now() - since > longest_yielding) break;
    }
    for (;;) {
        theirs.sleepers.fetch_add(1, std::memory_order_seq_cst);
        uint32_t seen = theirs.epoch.load(std::memory_order_seq_cst);
        if (!reached(seen, epoch_) && !world_->aborted()) sleep_on(theirs.epoch, seen);
        theirs.sleepers.fetch_sub(1, std::memory_order_seq_cst);
        if (here(peer)) return STRETTO_OK;
        if (world_->aborted()) return broken();
        if (int status = check_refusals()) return status;
        if (int status = check_peers(*deadline)) return status;
    }
}

// Of a rank that refuses a call and one that does not the later one sees it, and nobody else is waited for.
int SharedTransport::check_refusals() {
    for (int q = 0; q < ranks(); q++) {
        if (!here(q) || line(q).hash[parity_] == line(rank()).hash[parity_]) continue;
        for (int r : {q, rank()})
            if (page(r).descriptor[parity_].refused) return report_refusal(r);
    }
    return STRETTO_OK;
}

Request SharedTransport::send(int, int, const void *, uint64_t) { return Request{this}; }
Request SharedTransport::receive(int, int, void *, uint64_t) { return Request{this}; }

int SharedTransport::progress(Request *requests, int count, bool) {
    for (int i = 0; i < count; i++) {
        if (requests[i].impl) {
            return set_error(STRETTO_INVALID,
                             "ranks that share memory exchange no messages: direct() says so, use at()");
        }
    }
    return poll();
}

}  // namespace stretto::runtime
