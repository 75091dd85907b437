// A communicator of some ranks of another, made by these alone. Each proposes its list in its page and waits until all have
// proposed the same; the first of them has put the new lines into its heap and says where. They meet on those lines, withdraw
// what they proposed, and meet again: so no proposal of an earlier one is left when the next is made.
#include <algorithm>
#include <cstring>

#include "collectives/base/clock.h"
#include "collectives/base/error.h"
#include "collectives/base/hash.h"
#include "collectives/transport/mismatch.h"
#include "collectives/transport/shared_transport.h"

namespace stretto::runtime {
namespace {

constexpr uint64_t no_lines = 0;  // else one more than their place

bool is_in(const uint64_t *members, int rank) { return members[rank / 64] >> (rank % 64) & 1; }

}  // namespace

int SharedTransport::sub(const std::vector<int> &ranks, std::unique_ptr<Transport> *made) {
    if (world_->aborted()) return broken();
    const uint64_t hash = hash_bytes(ranks.data(), ranks.size() * sizeof(int), 1) | 1;
    uint64_t lines = no_lines;
    if (ranks[0] == rank()) {
        uint64_t bytes = Lines::bytes(int(ranks.size()));
        void *memory = world_->allocate(bytes, alignof(Lines));
        if (!memory) return fail(STRETTO_NO_MEMORY, std::string(last_error()).c_str());
        memset(memory, 0, bytes);
        lines = value_of(Lines::make(memory, int(ranks.size()), world_->settings().first_epoch)) + 1;
    }
    propose(ranks, hash, lines);
    if (int status = wait_for_proposals(ranks, hash)) return status;
    auto *agreed = reinterpret_cast<Lines *>(address(ranks[0], page(ranks[0]).proposal.lines - 1));
    std::vector<int> members;
    for (int r : ranks) members.push_back(members_[size_t(r)]);
    std::unique_ptr<SharedTransport> t(new SharedTransport(world_, agreed, std::move(members), true));
    if (int status = t->barrier()) return status;
    propose({}, 0, no_lines);
    if (int status = t->barrier()) return status;
    *made = std::move(t);
    return STRETTO_OK;
}

void SharedTransport::propose(const std::vector<int> &ranks, uint64_t hash, uint64_t lines) {
    Proposal &p = page(rank()).proposal;
    uint64_t members[most_ranks / 64] = {};
    for (int r : ranks) members[r / 64] |= uint64_t(1) << (r % 64);
    p.version.fetch_add(1, std::memory_order_seq_cst);
    for (size_t i = 0; i < most_ranks / 64; i++) p.members[i].store(members[i], std::memory_order_seq_cst);
    p.hash.store(hash, std::memory_order_seq_cst);
    p.lines.store(lines, std::memory_order_seq_cst);
    p.version.fetch_add(1, std::memory_order_seq_cst);
}

// Has the peer proposed the same? An error if it makes another communicator in which this rank is, too.
int SharedTransport::compare_proposal(int peer, uint64_t hash, bool *same) {
    const Proposal &p = page(peer).proposal;
    const uint32_t version = p.version.load();
    uint64_t members[most_ranks / 64], theirs = p.hash.load();
    for (size_t i = 0; i < most_ranks / 64; i++) members[i] = p.members[i].load();
    if (version % 2 || p.version.load() != version) return STRETTO_OK;  // it is being written
    *same = theirs == hash;
    if (*same || !theirs || !is_in(members, rank())) return STRETTO_OK;
    std::vector<int> list;
    for (int q = 0; q < ranks(); q++)
        if (is_in(members, q)) list.push_back(q);
    return report(STRETTO_MISMATCH, "ranks differ in the communicator that they make: rank " + std::to_string(peer) +
                                        " makes one of " + rank_list(list) + ", rank " + std::to_string(rank()) +
                                        " of others or in another order");
}

int SharedTransport::wait_for_proposals(const std::vector<int> &ranks, uint64_t hash) {
    Deadline deadline(world_->settings().timeout);
    for (int round = 0;; round++) {
        std::vector<int> late;
        for (int q : ranks) {
            bool same = false;
            if (int status = compare_proposal(q, hash, &same)) return status;
            if (!same) late.push_back(q);
        }
        if (world_->aborted()) return broken();
        if (late.empty()) return STRETTO_OK;
        for (int q : late)
            if (is_lost(q)) return report_lost(q, "makes a communicator with it");
        if (deadline.passed())
            return report(STRETTO_TIMEOUT, late_text(late, "makes a communicator with them"));
        if (round < 20) sched_yield();
        else sleep_microseconds(round < 100 ? 100 : 1000);
    }
}

}  // namespace stretto::runtime
