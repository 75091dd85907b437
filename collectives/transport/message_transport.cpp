#include "collectives/transport/message_transport.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/base/hash.h"
#include "collectives/transport/mismatch.h"

namespace stretto::runtime {
namespace {

constexpr int spins = 500, yields = 200;   // tests, 0.1 to 0.3 us each with MPI
constexpr double longest_yielding = 1e-3;  // seconds

}  // namespace

MessageTransport::MessageTransport(std::shared_ptr<MessageWorld> world)
    : MessageTransport(world, world->network, all_ranks(world->network->ranks())) {}

MessageTransport::MessageTransport(std::shared_ptr<MessageWorld> world, std::shared_ptr<Network> network,
                                   std::vector<int> members)
    : world_(std::move(world)),
      network_(std::move(network)),
      members_(std::move(members)),
      rank_(network_->rank()),
      ranks_(network_->ranks()),
      spins_(world_->spin ? spins : 0),
      peers_(world_->memory, size_t(ranks_)),
      barrier_bytes_(world_->memory, 2) {}

MessageTransport::~MessageTransport() {
    drop_all();
    if (world_->status()) network_->abandon();
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
    if (!world_->end(op) && !op->sends) stuck_.push_back(op->peer);
}

void MessageTransport::drop_all() {
    while (under_way_) drop(under_way_);
}

Request MessageTransport::send(int peer, int tag, const void *data, uint64_t bytes) {
    if (world_->status()) return {};  // progress() reports it
    Operation *op = track(network_->start_send(peer, tag, data, bytes));
    if (!op) fail(STRETTO_SYSTEM, std::string(last_error()).c_str());
    return {op};
}

Request MessageTransport::receive(int peer, int tag, void *data, uint64_t bytes) {
    return receive(peer, tag, data, bytes, nullptr);
}

Request MessageTransport::receive(int peer, int tag, void *data, uint64_t bytes, uint64_t *length) {
    if (world_->status()) return {};
    if (bytes > short_bytes) {
        received_much_ = true;
        if (look_if_late()) return {};
    }
    Operation *op = track(network_->start_receive(peer, tag, data, bytes, length));
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
            text = (op->sends ? "a message to rank " : "a message from rank ") + std::to_string(op->peer) + ": " + text;
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
    std::optional<Deadline> deadline;  // for all of them together
    double since = 0;                  // the last one ended, as far as that was looked at
    for (int round = 0;; round++) {
        bool done = true;
        if (!world_->status() && test_all(requests, count, &done)) {
            since = 0;
            round = 0;
        }
        // Looking for notes costs as much as a test: not in every round of a short wait.
        if (!world_->status() && !done && (!wait || (round & 63) == 63)) poll();
        if (world_->status()) {
            for (int i = 0; i < count; i++) requests[i].impl = nullptr;  // dropped with all others
            return broken();
        }
        if (done || !wait) return STRETTO_OK;
        if (round < spins_) continue;
        double now = seconds_now();
        if (!since) since = now;
        if (!deadline) deadline.emplace(world_->settings.timeout);
        if (round < spins_ + yields && now - since < longest_yielding) {
            sched_yield();
            continue;
        }
        poll();
        if (deadline->passed() && !world_->status()) {
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
    snprintf(seconds, sizeof seconds, "%g s", world_->settings.timeout);
    return rank_list(late) + (late.size() == 1 ? " has" : " have") + " not answered within " + seconds +
           " (STRETTO_TIMEOUT); rank " + std::to_string(rank_) + " waits" + (inside_ ? " in " + place_in_call() : "");
}

// ---- agreement

void *MessageTransport::carry(int peer, uint64_t bytes) {
    if (world_->status()) return nullptr;  // the last may still be on its way
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
    if (world_->status()) return broken();
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
    return world_->status() ? broken() : STRETTO_OK;
}

int MessageTransport::agree() {
    if (agreed_) return world_->status() ? broken() : STRETTO_OK;
    if (int status = descriptor_.refused ? look_for_others() : STRETTO_OK) return status;
    if (int status = progress(telling_.data(), int(telling_.size()), true)) return status;
    agreed_ = true;
    for (int q = 0; q < ranks_; q++)
        if (q != rank_ && peers_[size_t(q)].heard.hash != descriptor_.hash) return mismatch();
    return STRETTO_OK;
}

// This rank refuses the call: who does not is told as soon as this rank hears of it, and nobody else is waited for.
int MessageTransport::look_for_others() {
    const size_t sends = telling_.size() / 2;
    const double begin = seconds_now();
    for (Deadline deadline(world_->settings.timeout); !deadline.passed();) {
        bool all = true;
        for (size_t i = 0; i < sends; i++) {  // in the order in which enter() has started them
            if (int status = progress(&telling_[sends + i], 1, false)) return status;
            const size_t q = (size_t(rank_ + ranks_) - i - 1) % size_t(ranks_);
            all &= !telling_[sends + i].impl;
            if (!telling_[sends + i].impl && peers_[q].heard.hash != descriptor_.hash)
                return report(descriptor_.refused, "rank " + std::to_string(rank_) + " failed: " + descriptor_.refusal);
        }
        if (all) break;
        sleep_in_proportion(seconds_now() - begin);
    }
    return STRETTO_OK;
}

template <typename T>
int MessageTransport::gather(const std::vector<int> &ranks, int tag, const T &mine, std::vector<T> *all) {
    all->assign(ranks.size(), mine);
    std::vector<Request> requests;
    OwnMemory<T> theirs(world_->memory, ranks.size()), own(world_->memory);
    own[0] = mine;
    for (size_t i = 0; i < ranks.size(); i++)
        if (ranks[i] != rank_) requests.push_back(receive(ranks[i], tag, &theirs[i], sizeof(T)));
    for (int q : ranks)
        if (q != rank_) requests.push_back(send(q, tag, &own[0], sizeof(T)));
    if (int status = progress(requests.data(), int(requests.size()), true)) return status;
    for (size_t i = 0; i < ranks.size(); i++)
        if (ranks[i] != rank_) (*all)[i] = theirs[i];
    return STRETTO_OK;
}

// Everybody is here and knows that descriptors differ, or that somebody refuses: all exchange them and build the same text.
int MessageTransport::mismatch() {
    struct Card {
        Descriptor descriptor;
        char refusal[1024];
    } mine = {descriptor_, ""};
    if (descriptor_.refusal) snprintf(mine.refusal, sizeof mine.refusal, "%s", descriptor_.refusal);
    std::vector<Card> all;
    if (int status = gather(all_ranks(ranks_), descriptor_tag, mine, &all)) return status;
    std::vector<const Descriptor *> pointers;
    for (const Card &c : all) pointers.push_back(&c.descriptor);
    int status = STRETTO_MISMATCH;
    std::string text;
    for (int q = ranks_; q-- > 0;) {
        if (!pointers[size_t(q)]->refused) continue;
        status = pointers[size_t(q)]->refused;
        text = "rank " + std::to_string(q) + " failed: " + all[size_t(q)].refusal;
    }
    std::vector<std::string> programs;
    if (text.empty() && differ_in_program(pointers))
        if (int failed = show_programs(program_text(descriptor_.names), &programs)) return failed;
    if (text.empty()) text = mismatch_text(pointers, descriptor_.names, programs);
    drop_all();
    return ranks_ == world_->network->ranks() ? with_stuck(world_->break_with(status, text)) : report(status, text);
}

// Each tells the others its text, how long it is first.
int MessageTransport::show_programs(const std::string &mine, std::vector<std::string> *all) {
    std::vector<uint64_t> lengths;
    if (int status = gather(all_ranks(ranks_), descriptor_tag, uint64_t(mine.size()), &lengths)) return status;
    std::vector<Request> requests;
    for (uint64_t length : lengths) all->emplace_back(std::min<uint64_t>(length, most_program_text), ' ');
    for (int q = 0; q < ranks_; q++)
        if (q != rank_) requests.push_back(receive(q, descriptor_tag, (*all)[size_t(q)].data(), (*all)[size_t(q)].size()));
    for (int q = 0; q < ranks_; q++)
        if (q != rank_) requests.push_back(send(q, descriptor_tag, mine.data(), mine.size()));
    (*all)[size_t(rank_)] = mine;
    return progress(requests.data(), int(requests.size()), true);
}

int MessageTransport::barrier() {
    if (int status = agree()) return status;
    barriers_++;
    if (int status = poll()) return status;
    for (int step = 1, round = 0; step < ranks_; step *= 2, round++) {
        int to = (rank_ + step) % ranks_, from = (rank_ + ranks_ - step) % ranks_;
        Request both[2] = {receive(from, barrier_tag + round, &barrier_bytes_[0], 1),
                           send(to, barrier_tag + round, &barrier_bytes_[1], 1)};
        if (int status = progress(both, 2, true)) return status;
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
    return report(
        status, "rank " + std::to_string(rank_) + " failed" + (inside_ ? " in " + place_in_call() : "") + ": " + text);
}

// Receives are given up before anybody is told, as their buffers are the caller's from now on.
int MessageTransport::report(int status, const std::string &text) {
    drop_all();
    return with_stuck(world_->report(status, text + numbering_text(members_, world_->network->ranks())));
}

// From then on, since they may write for as long as their peers live.
int MessageTransport::with_stuck(int status) {
    if (stuck_.empty()) return status;
    std::sort(stuck_.begin(), stuck_.end());
    stuck_.erase(std::unique(stuck_.begin(), stuck_.end()), stuck_.end());
    const std::string text = last_error() + std::string("; ") + rank_list(stuck_) + (stuck_.size() == 1 ? " is" : " are") +
                             " in the middle of a message and may still write into this call's buffers; those of "
                             "stretto_malloc are kept from reuse, others are never to be given back";
    return set_error_text(STRETTO_PEER_STUCK, text);
}

// Who has been away for long, in a kernel or between calls, finds what the others told it, though they may have given up
// since: their arguments are not to be read any more.
int MessageTransport::look_if_late() {
    const double now = rough_seconds_now(), away = now - looked_;
    looked_ = now;
    return away > world_->settings.timeout / 4 ? look_for_notes(8) : STRETTO_OK;
}

// More than once, as other messages may be in front of a note.
int MessageTransport::look_for_notes(int times) {
    int status = STRETTO_OK;
    for (int i = 0; !status && i < times; i++) status = poll();
    return status;
}

int MessageTransport::broken() {
    drop_all();
    return with_stuck(world_->broken());
}

// ---- a communicator of some of its ranks

int MessageTransport::sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) {
    if (world_->status()) return broken();
    struct Card {
        uint64_t list, context;
    };
    const uint64_t number[2] = {world_->made++, uint64_t(members_[size_t(rank_)])};
    const Card mine = {hash_bytes(ranks.data(), ranks.size() * sizeof(int)), hash_bytes(number, sizeof number)};
    std::vector<Card> all;
    if (int status = gather(ranks, sub_tag, mine, &all)) return status;
    for (size_t i = 0; i < ranks.size(); i++) {
        if (all[i].list == mine.list) continue;
        return report(STRETTO_MISMATCH, "ranks differ in the communicator that they make: rank " +
                                            std::to_string(ranks[i]) + " makes one of others than rank " +
                                            std::to_string(rank_) + ", or in another order");
    }
    std::shared_ptr<Network> network = network_->sub(ranks, all[0].context);
    if (!network) return fail(STRETTO_SYSTEM, std::string(last_error()).c_str());
    std::vector<int> members;
    for (int r : ranks) members.push_back(members_[size_t(r)]);
    made->reset(new MessageTransport(world_, std::move(network), std::move(members)));
    return STRETTO_OK;
}

}  // namespace stretto::runtime
