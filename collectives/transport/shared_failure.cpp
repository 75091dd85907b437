// Failure among ranks that share memory: who is lost or late, the abort word, acknowledgement, quarantine.
//
// A failing call must not return while a peer may still store into the caller's buffers. Each rank says in its page
// whether it is `inside` a call; a rank that learns of the failure clears that and touches no peer's memory any more.
// The others wait for it, or for its death. A rank that is only stopped can do neither: after a second the call returns
// STRETTO_PEER_STUCK, and the buffers of the call stay out of circulation until that rank has woken and given way.
#include <linux/futex.h>
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

// May the rank with that page still touch its peers' memory?
bool may_touch(const Page &page, const World &world, int rank) {
    return page.inside.load(std::memory_order_acquire) && !page.gone.load(std::memory_order_acquire) &&
           !world.ended(rank);
}

}  // namespace

// "call 12 (adam), barrier 2"
std::string SharedTransport::place_in_call() const { return place_text(page(rank()).descriptor[parity_], barriers_); }

// While waiting: is a rank that has not come lost, or too late?
int SharedTransport::check_peers(Deadline &deadline) {
    std::vector<int> late;
    for (int q = 0; q < ranks(); q++) {
        if (q == rank() || here(q)) continue;
        bool gone = is_lost(q);
        if (here(q)) continue;  // it signalled and then ended, which is its right
        if (gone) return report_lost(q, "waits for it in " + place_in_call());
        late.push_back(q);
    }
    if (late.empty() || !deadline.passed()) return STRETTO_OK;
    return report(STRETTO_TIMEOUT, late_text(late, "waits in " + place_in_call()));
}

bool SharedTransport::is_lost(int peer) const {
    return page(peer).gone.load(std::memory_order_acquire) || world_->ended(members_[size_t(peer)]);
}

// `waiting`: what this rank does meanwhile, for the text.
int SharedTransport::report_lost(int peer, const std::string &waiting) {
    const std::string how = page(peer).gone.load(std::memory_order_acquire)
                                ? "it has freed its communicator"
                                : world_->fate(members_[size_t(peer)]);
    return report(STRETTO_PEER_LOST, "rank " + std::to_string(peer) + " lost: " + how + "; rank " +
                                         std::to_string(rank()) + " " + waiting);
}

std::string SharedTransport::late_text(const std::vector<int> &late, const std::string &waiting) const {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g s", world_->settings().timeout);
    return rank_list(late) + (late.size() == 1 ? " has" : " have") + " not arrived within " + seconds +
           " (STRETTO_TIMEOUT); rank " + std::to_string(rank()) + " " + waiting;
}

// Everybody has come, and somebody differs or refuses: all find the same text.
int SharedTransport::mismatch() {
    std::vector<const Descriptor *> descriptors;
    for (int q = 0; q < ranks(); q++) descriptors.push_back(&page(q).descriptor[parity_]);
    for (int q = 0; q < ranks(); q++)
        if (descriptors[size_t(q)]->refused) return report_refusal(q);
    const CallNames *names = descriptors[size_t(rank())]->names;
    std::vector<std::string> programs;
    if (differ_in_program(descriptors))
        if (int status = show_programs(program_text(names), &programs)) return status;
    return report(STRETTO_MISMATCH, mismatch_text(descriptors, names, programs));
}

// Each shows the others its text, in memory that lives as long as the world: there is no next call.
int SharedTransport::show_programs(const std::string &mine, std::vector<std::string> *all) {
    void *memory = world_->allocate(mine.size() + 1, 64);
    if (!memory) return fail(STRETTO_NO_MEMORY, std::string(last_error()).c_str());
    memcpy(memory, mine.c_str(), mine.size() + 1);
    page(rank()).program = value_of(memory);
    if (int status = barrier()) return status;
    for (int q = 0; q < ranks(); q++) all->push_back(address(q, page(q).program));
    return STRETTO_OK;
}

int SharedTransport::report_refusal(int rank) {
    Page &theirs = page(rank);
    return report(theirs.descriptor[parity_].refused, "rank " + std::to_string(rank) + " failed: " + theirs.refusal);
}

int SharedTransport::fail(int status, const char *text) {
    bool in_call = page(rank()).inside.load(std::memory_order_relaxed);
    return report(
        status, "rank " + std::to_string(rank()) + " failed" + (in_call ? " in " + place_in_call() : "") + ": " + text);
}

int SharedTransport::report(int status, const std::string &text) {
    if (world_->report(status, page(rank()).descriptor[parity_].sequence,
                       text + numbering_text(members_, world_->ranks())))
        for (int q = 0; q < ranks(); q++) syscall(SYS_futex, &line(q).epoch, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
    return broken();
}

// Acknowledges the failure, waits for the peers to do the same, and gives the first failure's status and text.
int SharedTransport::broken() {
    std::string text = world_->text();
    Page &mine = page(rank());
    if (mine.inside.exchange(0, std::memory_order_seq_cst)) {
        std::vector<int> stuck = settle();
        if (!stuck.empty()) {
            hold_places(stuck);
            return set_error_text(STRETTO_PEER_STUCK, text + "; " + rank_list(stuck) +
                                                          (stuck.size() == 1 ? " is" : " are") +
                                                          " stopped inside the call and may still write into its "
                                                          "buffers, which are kept from reuse");
        }
    }
    return set_error_text(world_->status(), text);
}

// Waits until no peer can touch this rank's memory any more, a second at most; returns those that still can.
std::vector<int> SharedTransport::settle() {
    Deadline deadline(patience);
    std::vector<int> stuck;
    for (int round = 0;; round++) {
        stuck.clear();
        for (int q = 0; q < ranks(); q++) {
            if (q != rank() && may_touch(page(q), *world_, members_[size_t(q)])) stuck.push_back(q);
        }
        if (stuck.empty() || deadline.passed()) return stuck;
        if (round < 20) sched_yield();
        else sleep_microseconds(round < 100 ? 100 : 1000);
    }
}

void SharedTransport::hold_places(const std::vector<int> &stuck) {
    std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
    // Of the call before, too: its leave may not have waited.
    for (auto &places : published_)
        for (const Place &p : places)
            if (p.data && p.bytes) ranges.push_back({uintptr_t(p.data), uintptr_t(p.data) + p.bytes});
    auto touched = [world = world_.get(), lines = &lines_, use = use_, members = members_, stuck] {
        auto may = [&](int q) { return may_touch(lines->page(q), *world, members[size_t(q)]); };
        return std::any_of(stuck.begin(), stuck.end(), may);
    };
    world_->hold(std::move(ranges), touched);
}

}  // namespace stretto::runtime
