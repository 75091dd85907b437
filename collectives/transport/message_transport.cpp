#include "collectives/transport/message_transport.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/transport/mismatch.h"

namespace stretto::runtime {
namespace {

enum Tags {
    enter_tag = most_user_tags,
    barrier_tag,  // and one a round
    descriptor_tag = barrier_tag + 32,
    note_tag
};

// A network makes progress only while it is asked, and a rank that gives way all the time gets little
// of a busy machine: so the sleeps are an eighth of the time waited, within limits.
constexpr int spins = 500, yields = 200;               // tests, 0.1 to 0.3 us each with MPI
constexpr double longest_yielding = 1e-3;              // seconds
constexpr long first_sleep = 20, longest_sleep = 500;  // microseconds
constexpr double note_patience = 1;                    // seconds for a note of failure to be taken

void sleep_in_proportion(double waited) {
    sleep_microseconds(std::clamp(long(waited * 1e6 / 8), first_sleep, longest_sleep));
}

}  // namespace

MessageTransport::MessageTransport(int rank, int ranks, const Settings &settings, bool spin)
    : rank_(rank), ranks_(ranks), settings_(settings), spins_(spin ? spins : 0), peers_(size_t(ranks)) {}

void MessageTransport::close() {
    drop_all();
    notes_.clear();
}

// ---- operations

Operation *MessageTransport::track(Operation *op) {
    if (!op) return nullptr;
    op->next = under_way_;
    op->link = &under_way_;
    if (under_way_) under_way_->link = &op->next;
    under_way_ = op;
    return op;
}

void MessageTransport::drop(Operation *op) {
    *op->link = op->next;
    if (op->next) op->next->link = op->link;
    delete op;
}

void MessageTransport::drop_all() {
    while (under_way_) drop(under_way_);
    notice_ = nullptr;
}

Request MessageTransport::send(int peer, int tag, const void *data, uint64_t bytes) {
    if (status_) return {};  // progress() reports it
    Operation *op = track(start_send(peer, tag, data, bytes));
    if (!op) fail(STRETTO_SYSTEM, std::string(last_error()).c_str());
    return {op};
}

Request MessageTransport::receive(int peer, int tag, void *data, uint64_t bytes) {
    return receive(peer, tag, data, bytes, nullptr);
}

Request MessageTransport::receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) {
    if (status_) return {};
    if (bytes > short_bytes) {
        received_much_ = true;
        if (look_if_late()) return {};
    }
    Operation *op = track(start_receive(peer, tag, data, bytes, length));
    if (!op) fail(STRETTO_SYSTEM, std::string(last_error()).c_str());
    return {op};
}

// Tests the requests in order, up to one that is not done; says whether one ended. On failure the communicator is broken.
bool MessageTransport::test_all(Request *requests, int count, bool *done) {
    bool moved = false;
    *done = true;
    for (int i = 0; i < count; i++) {
        auto *op = static_cast<Operation *>(requests[i].impl);
        if (!op) continue;
        Operation::State state = op->test();
        if (state == Operation::Failed) {
            std::string text = last_error();
            text = (op->sends ? "a message to rank " : "a message from rank ") +
                   std::to_string(op->peer) + ": " + text;
            fail(STRETTO_SYSTEM, text.c_str());
            return false;
        }
        if (state == Operation::Done) {
            drop(op);
            requests[i].impl = nullptr;
            moved = true;
        } else {
            *done = false;
            break;  // every test lets the network go on with all of them
        }
    }
    return moved;
}

int MessageTransport::progress(Request *requests, int count, bool wait) {
    double since = 0;
    for (int round = 0;; round++) {
        bool done = true;
        if (!status_ && test_all(requests, count, &done)) {
            since = 0;
            round = 0;
        }
        // Looking for notes costs as much as a test: not in every round of a short wait.
        if (!status_ && !done && (!wait || (round & 63) == 63)) poll();
        if (status_) {
            for (int i = 0; i < count; i++) requests[i].impl = nullptr;  // dropped with all others
            return broken();
        }
        if (done || !wait) return STRETTO_OK;
        if (round < spins_) continue;
        double now = seconds_now();
        if (!since) since = now;
        if (round < spins_ + yields && now - since < longest_yielding) {
            sched_yield();
            continue;
        }
        poll();
        if (!status_ && now - since > settings_.timeout) {
            std::vector<int> late = late_peers(requests, count);
            if (late.empty()) continue;  // all came while this rank slept
            report(STRETTO_TIMEOUT, late_text(late));
        }
        sleep_in_proportion(now - since);
    }
}

std::vector<int> MessageTransport::late_peers(const Request *requests, int count) const {
    std::vector<int> late;
    for (int i = 0; i < count; i++) {
        auto *op = static_cast<Operation *>(requests[i].impl);
        if (op && op->test() == Operation::Pending) late.push_back(op->peer);
    }
    std::sort(late.begin(), late.end());
    late.erase(std::unique(late.begin(), late.end()), late.end());
    return late;
}

// "rank 1 has not answered within 5 s (STRETTO_TIMEOUT); rank 0 waits in call 3 (adam)"
std::string MessageTransport::late_text(const std::vector<int> &late) const {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g s", settings_.timeout);
    return rank_list(late) + (late.size() == 1 ? " has" : " have") + " not answered within " +
           seconds + " (STRETTO_TIMEOUT); rank " + std::to_string(rank_) + " waits" +
           (inside_ ? " in " + place_in_call() : "");
}

// ---- agreement

int MessageTransport::exchange(int to, int from, int tag, const void *out, void *in,
                               uint64_t bytes) {
    Request both[2] = {receive(from, tag, in, bytes), send(to, tag, out, bytes)};
    return progress(both, 2, true);
}

void *MessageTransport::carry(int peer, uint64_t bytes) {
    if (status_) return nullptr;  // the last may still be on its way
    peers_[size_t(peer)].carry_bytes = bytes;
    return peers_[size_t(peer)].told.carried;
}

const void *MessageTransport::carried(int peer, uint64_t bytes) const {
    const Peer &p = peers_[size_t(peer)];
    return p.heard_bytes == sizeof(uint64_t) + bytes ? p.heard.carried : nullptr;
}

// Each tells each, as stages send each other their operands: so those can go with it, and nobody hears of a third rank only
// when a second one has run. No message is longer than there is room for, whatever ranks disagree on.
int MessageTransport::enter(const Descriptor &descriptor, const Place *, int) {
    if (status_) return broken();
    if (int status = look_if_late()) return status;
    descriptor_ = descriptor;
    barriers_ = 0;
    inside_ = true;
    agreed_ = false;
    telling_.clear();
    for (int i = 1; i < ranks_; i++) {
        int q = (rank_ + i) % ranks_;
        Peer &p = peers_[size_t(q)];
        p.told.hash = descriptor.hash;
        telling_.push_back(send(q, enter_tag, &p.told.hash, sizeof(uint64_t) + p.carry_bytes));
        p.carry_bytes = 0;
    }
    for (int i = 1; i < ranks_; i++) {
        int q = (rank_ + ranks_ - i) % ranks_;
        Peer &p = peers_[size_t(q)];
        telling_.push_back(receive(q, enter_tag, &p.heard.hash, short_bytes, &p.heard_bytes));
    }
    return status_ ? broken() : STRETTO_OK;
}

int MessageTransport::agree() {
    if (agreed_) return status_ ? broken() : STRETTO_OK;
    if (int status = progress(telling_.data(), int(telling_.size()), true)) return status;
    agreed_ = true;
    for (int q = 0; q < ranks_; q++)
        if (q != rank_ && peers_[size_t(q)].heard.hash != descriptor_.hash) return mismatch();
    return STRETTO_OK;
}

// Everybody is here and knows that descriptors differ: all exchange them and build the same text.
int MessageTransport::mismatch() {
    const Descriptor &mine = descriptor_;
    std::vector<Descriptor> all(static_cast<size_t>(ranks_));
    std::vector<Request> requests;
    all[size_t(rank_)] = mine;
    for (int q = 0; q < ranks_; q++) {
        if (q != rank_)
            requests.push_back(receive(q, descriptor_tag, &all[size_t(q)], sizeof(Descriptor)));
    }
    for (int q = 0; q < ranks_; q++) {
        if (q != rank_) requests.push_back(send(q, descriptor_tag, &mine, sizeof(Descriptor)));
    }
    if (int status = progress(requests.data(), int(requests.size()), true)) return status;
    std::vector<const Descriptor *> pointers;
    for (const Descriptor &d : all) pointers.push_back(&d);
    return break_with(STRETTO_MISMATCH, mismatch_text(pointers, mine.names));
}

int MessageTransport::barrier() {
    if (int status = agree()) return status;
    barriers_++;
    if (int status = poll()) return status;
    for (int step = 1, round = 0; step < ranks_; step *= 2, round++) {
        char out = 0, in;
        int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
        if (int status = exchange(to, from, barrier_tag + round, &out, &in, 1)) return status;
    }
    return STRETTO_OK;
}

int MessageTransport::leave(bool wait) {
    int status = wait ? barrier() : agree();
    // Long messages may have been sent from where they are in the memory of a rank that has failed since, and gone on.
    if (!status && received_much_) status = look_for_notes(2);
    received_much_ = false;
    inside_ = false;
    return status;
}

// ---- failure

std::string MessageTransport::place_in_call() const { return place_text(descriptor_, barriers_); }

int MessageTransport::fail(int status, const char *text) {
    return report(status, "rank " + std::to_string(rank_) + " failed" +
                              (inside_ ? " in " + place_in_call() : "") + ": " + text);
}

int MessageTransport::report(int status, const std::string &text) {
    if (status_) return broken();
    // Receives are given up before anybody is told, as their buffers are the caller's from now on.
    drop_all();
    outgoing_->status = status;
    snprintf(outgoing_->text, sizeof outgoing_->text, "%s", text.c_str());
    for (int q = 0; q < ranks_; q++) {
        if (q == rank_) continue;
        if (Operation *op = start_send(q, note_tag, outgoing_.get(), sizeof(Note)))
            notes_.emplace_back(op);
    }
    // A network that does not buffer needs this rank's help until a note is taken; who takes none
    // now finds it later. Others may have failed at the same time and wait alike: their notes are
    // taken, too.
    std::unique_ptr<Operation> others;
    auto taken = [](const std::unique_ptr<Operation> &op) {
        return op->test() != Operation::Pending;
    };
    for (double begin = seconds_now(); seconds_now() - begin < note_patience;) {
        if (!others || taken(others))
            others.reset(start_receive(any_peer, note_tag, incoming_.get(), sizeof(Note), nullptr));
        notes_.erase(std::remove_if(notes_.begin(), notes_.end(), taken), notes_.end());
        if (notes_.empty()) break;
        sleep_in_proportion(seconds_now() - begin);
    }
    others.reset();
    return break_with(status, text);
}

int MessageTransport::poll() {
    if (status_) return broken();
    if (ranks_ == 1) return STRETTO_OK;
    if (!notice_) {
        notice_ = track(start_receive(any_peer, note_tag, incoming_.get(), sizeof(Note), nullptr));
        if (!notice_) return break_with(STRETTO_SYSTEM, last_error());
    }
    switch (notice_->test()) {
    case Operation::Pending: return STRETTO_OK;
    case Operation::Failed: return break_with(STRETTO_SYSTEM, last_error());
    case Operation::Done: break;
    }
    incoming_->text[sizeof incoming_->text - 1] = 0;
    return break_with(incoming_->status, incoming_->text);
}

// Who has been away for long, in a kernel or between calls, finds what the others told it, though they may have given up
// since: their arguments are not to be read any more.
int MessageTransport::look_if_late() {
    const double now = rough_seconds_now(), away = now - looked_;
    looked_ = now;
    return away > settings_.timeout / 4 ? look_for_notes(8) : STRETTO_OK;
}

// More than once, as other messages may be in front of a note.
int MessageTransport::look_for_notes(int times) {
    int status = STRETTO_OK;
    for (int i = 0; !status && i < times; i++) status = poll();
    return status;
}

int MessageTransport::break_with(int status, const std::string &text) {
    if (!status_) {
        status_ = status;
        text_ = text;
        drop_all();
    }
    return broken();
}

int MessageTransport::broken() { return set_error_text(status_, text_); }

}  // namespace stretto::runtime
