#include "collectives/transport/message_world.h"

#include <algorithm>
#include <cstdio>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/transport/message_transport.h"

namespace stretto::runtime {
namespace {

// Of STRETTO_TIMEOUT, and seconds: for a note of failure to be taken.
constexpr double note_part = 0.125, note_patience = 1;
constexpr long first_sleep = 20, longest_sleep = 500;  // microseconds

}  // namespace

void sleep_in_proportion(double waited) {
    sleep_microseconds(std::clamp(long(waited * 1e6 / 8), first_sleep, longest_sleep));
}

MessageWorld::~MessageWorld() {
    notice_.reset();
    notes_.clear();
    if (status()) network->abandon();
}

int MessageWorld::break_with(int status, const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex_);
    return break_locked(status, text);
}

int MessageWorld::break_locked(int status, const std::string &text) {
    if (!status_) {
        text_ = text;
        status_.store(status, std::memory_order_release);
        notice_.reset();
    }
    return set_error_text(status_, text_);
}

bool MessageWorld::end(Operation *op) {
    if (op->end()) {
        delete op;
        return true;
    }
    memory.keep(op->data);
    static std::mutex mutex;
    static auto *all = new std::vector<Operation *>;
    std::lock_guard<std::mutex> lock(mutex);
    all->push_back(op);
    return false;
}

MessageWorld::Ended MessageWorld::receive_note() {
    return {network->start_receive(any_peer, note_tag, incoming_.get(), sizeof(Note), nullptr), {this}};
}

int MessageWorld::report(int status, const std::string &text) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_) return set_error_text(status_, text_);
    notice_.reset();
    outgoing_->status = status;
    snprintf(outgoing_->text, sizeof outgoing_->text, "%s", text.c_str());
    for (int q = 0; q < network->ranks(); q++) {
        if (q == network->rank()) continue;
        if (Operation *op = network->start_send(q, note_tag, outgoing_.get(), sizeof(Note))) notes_.push_back({op, {this}});
    }
    // A network that does not buffer needs this rank's help until a note is taken; who takes none now finds it later. Others
    // may have failed at the same time and wait alike: their notes are taken, too.
    Ended others{nullptr, {this}};
    auto taken = [](const Ended &op) { return op->test() != Operation::Pending; };
    const double begin = seconds_now();
    for (Deadline deadline(std::min(note_patience, note_part * settings.timeout)); !deadline.passed();) {
        if (!others || taken(others)) others = receive_note();
        notes_.erase(std::remove_if(notes_.begin(), notes_.end(), taken), notes_.end());
        if (notes_.empty()) break;
        sleep_in_proportion(seconds_now() - begin);
    }
    others.reset();
    return break_locked(status, text);
}

int MessageWorld::poll() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status_) return set_error_text(status_, text_);
    if (network->ranks() == 1) return STRETTO_OK;
    if (!notice_) notice_ = receive_note();
    switch (notice_ ? notice_->test() : Operation::Failed) {
    case Operation::Pending: return STRETTO_OK;
    case Operation::Failed: return break_locked(STRETTO_SYSTEM, last_error());
    case Operation::Done: break;
    }
    incoming_->text[sizeof incoming_->text - 1] = 0;
    return break_locked(incoming_->status, incoming_->text);
}

}  // namespace stretto::runtime
