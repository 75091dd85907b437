// Failure among ranks that share memory: who is lost or late, the abort word, acknowledgement,
// quarantine.
//
// A failing call must not return while a peer may still store into the caller's buffers. Each rank
// says in its page whether it is `inside` a call; a rank that learns of the failure clears that and
// touches no peer's memory any more. The others wait for it, or for its death. A rank that is only
// stopped can do neither: after a second the call returns STRETTO_PEER_STUCK, and the buffers of
// the call stay out of circulation until that rank has woken and given way.
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/transport/mismatch.h"
#include "collectives/transport/shared_transport.h"

namespace stretto::runtime {
namespace {

constexpr double patience = 1.0;  // seconds for a peer that has entered to acknowledge

uint64_t pack(int status, int rank, uint32_t sequence) {
    return uint64_t(uint16_t(-status)) << 48 | uint64_t(uint16_t(rank)) << 32 | sequence;
}
int status_in(uint64_t word) { return -int(word >> 48); }
int rank_in(uint64_t word) { return int(word >> 32 & 0xffff); }

std::string seconds_text(double seconds) {
    char text[32];
    snprintf(text, sizeof text, "%g s", seconds);
    return text;
}

}  // namespace

// "call 12 (adam), barrier 2"
std::string SharedTransport::place_in_call() const {
    return place_text(page(rank()).descriptor[parity_], barriers_);
}

// Has the peer's process ended? kill(pid, 0) would call a zombie alive; threads are never seen to
// end.
bool SharedTransport::ended(int peer) const {
    if (world_.processes.empty() || !world_.processes[peer].valid()) return false;
    pollfd p{world_.processes[peer].get(), POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

bool SharedTransport::may_touch(int peer) const {
    return page(peer).inside.load(std::memory_order_acquire) &&
           !page(peer).gone.load(std::memory_order_acquire) && !ended(peer);
}

// While waiting: is a rank that has not come lost, or too late?
int SharedTransport::check_peers(double since) {
    std::vector<int> late;
    for (int q = 0; q < ranks(); q++) {
        if (q == rank() || here(q)) continue;
        bool freed = page(q).gone.load(std::memory_order_acquire), dead = !freed && ended(q);
        if (here(q)) continue;  // it signalled and then ended, which is its right
        if (freed) {
            return report(STRETTO_PEER_LOST, "rank " + std::to_string(q) +
                                                 " lost: it has freed its communicator; rank " +
                                                 std::to_string(rank()) + " waits for it in " +
                                                 place_in_call());
        }
        if (dead) {
            return report(STRETTO_PEER_LOST, "rank " + std::to_string(q) + " lost: its process " +
                                                 std::to_string(world_.pids[q]) +
                                                 " has ended; rank " + std::to_string(rank()) +
                                                 " waits for it in " + place_in_call());
        }
        late.push_back(q);
    }
    if (late.empty() || seconds_now() - since < world_.settings.timeout) return STRETTO_OK;
    return report(STRETTO_TIMEOUT,
                  rank_list(late) + (late.size() == 1 ? " has" : " have") + " not arrived within " +
                      seconds_text(world_.settings.timeout) + " (STRETTO_TIMEOUT); rank " +
                      std::to_string(rank()) + " waits in " + place_in_call());
}

int SharedTransport::mismatch() {
    std::vector<const Descriptor *> descriptors;
    for (int q = 0; q < ranks(); q++) descriptors.push_back(&page(q).descriptor[parity_]);
    return report(STRETTO_MISMATCH, mismatch_text(descriptors, descriptors[size_t(rank())]->names));
}

int SharedTransport::fail(int status, const char *text) {
    bool in_call = page(rank()).inside.load(std::memory_order_relaxed);
    return report(status, "rank " + std::to_string(rank()) + " failed" +
                              (in_call ? " in " + place_in_call() : "") + ": " + text);
}

// The first report of all ranks stands; the text is complete before the word says that there is
// one.
int SharedTransport::report(int status, const std::string &text) {
    if (!aborted()) {
        Page &mine = page(rank());
        snprintf(mine.text, sizeof mine.text, "%s", text.c_str());
        uint64_t nothing = 0, word = pack(status, rank(), mine.descriptor[parity_].sequence);
        if (control_.abort.compare_exchange_strong(nothing, word, std::memory_order_seq_cst)) {
            for (int q = 0; q < ranks(); q++) {
                syscall(SYS_futex, &line(q).epoch, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
            }
        }
    }
    return broken();
}

int SharedTransport::poll() { return aborted() ? broken() : STRETTO_OK; }

// Acknowledges the failure, waits for the peers to do the same, and gives the first failure's
// status and text.
int SharedTransport::broken() {
    uint64_t word = control_.abort.load(std::memory_order_acquire);
    std::string text = page(rank_in(word)).text;
    Page &mine = page(rank());
    if (mine.inside.exchange(0, std::memory_order_seq_cst)) {
        std::vector<int> stuck = settle();
        if (!stuck.empty()) {
            hold_places(stuck);
            return set_error_text(STRETTO_PEER_STUCK,
                                  text + "; " + rank_list(stuck) +
                                      (stuck.size() == 1 ? " is" : " are") +
                                      " stopped inside the call and may still write into its "
                                      "buffers, which are kept from reuse");
        }
    }
    return set_error_text(status_in(word), text);
}

// Waits until no peer can touch this rank's memory any more, a second at most; returns those that
// still can.
std::vector<int> SharedTransport::settle() {
    double begin = seconds_now();
    std::vector<int> stuck;
    for (int round = 0;; round++) {
        stuck.clear();
        for (int q = 0; q < ranks(); q++) {
            if (q != rank() && may_touch(q)) stuck.push_back(q);
        }
        if (stuck.empty() || seconds_now() - begin > patience) return stuck;
        if (round < 20) sched_yield();
        else sleep_microseconds(round < 100 ? 100 : 1000);
    }
}

void SharedTransport::hold_places(const std::vector<int> &stuck) {
    std::lock_guard<std::mutex> lock(quarantine_);
    stuck_ = stuck;
    Line &line_ = line(rank());
    Page &page_ = page(rank());
    // Of the call before, too: its leave may not have waited.
    for (int parity = 0; parity < 2; parity++) {
        for (int i = 0; i < page_.count[parity]; i++) {
            uint64_t value = (i < near_places ? line_.place[parity] : page_.place[parity])[i];
            uintptr_t begin = uintptr_t(windows_[rank()]) + value;
            uint64_t bytes = page_.bytes[parity][i];
            if (bytes) held_.push_back({begin, begin + bytes});
        }
    }
}

void SharedTransport::drain_quarantine() {
    std::lock_guard<std::mutex> lock(quarantine_);
    if (stuck_.empty()) return;
    stuck_.erase(std::remove_if(stuck_.begin(), stuck_.end(), [&](int q) { return !may_touch(q); }),
                 stuck_.end());
    if (!stuck_.empty()) return;
    for (void *data : deferred_) world_.memory->release(data);
    deferred_.clear();
    held_.clear();
}

void SharedTransport::release(void *data) {
    drain_quarantine();
    {
        std::lock_guard<std::mutex> lock(quarantine_);
        uintptr_t begin = uintptr_t(data), end = begin + world_.memory->size(data);
        for (auto &[held_begin, held_end] : held_) {
            if (begin < held_end && held_begin < end) {
                deferred_.push_back(data);
                return;
            }
        }
    }
    world_.memory->release(data);
}

}  // namespace stretto::runtime
