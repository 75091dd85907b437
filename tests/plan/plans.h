// Plans made by hand, and worlds to run them in.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <stretto/runtime.hpp>
#include "collectives/plan/pack.h"
#include "tests/plan/kernels.h"

namespace stretto::test {

// How an all-reduce is carried; Auto: the runtime chooses.
enum class Carried { Auto,
                     OneShot,
                     TwoPhases };

// out = all_reduce(g), g: partial(Sum), one or two dimensions of sizes n, or B and H.
plan::PlanT all_reduce(int dims, Carried how);

// out_k = all_reduce(g_k) for k < count, all of n elements: arguments g_0, out_0, g_1, ...
plan::PlanT all_reduces(int count);

// out(sliced(d)) = reduce_scatter(g); out = all_gather(x sliced(d)).
plan::PlanT reduce_scatter(int dims, int d);
plan::PlanT all_gather(int dims, int d);

// b = broadcast(a, root).
plan::PlanT broadcast(int root);

// b(i) = the element left of i on rank `root`: each rank computes its slice and stores it to all, so in chunks.
plan::PlanT left_of(int root);

// The sum over ranks of g, momentum m on slices, p gathered: one sweep, in place. Scalars lr > 0 (required).
plan::PlanT fused_momentum();

// total() = sum of x by blocks. Sliced: x is, and its block sums are stored to all; else each rank makes all blocks.
plan::PlanT block_sums(bool sliced);

// y = x of the rank before, stored there; z = x of the rank after (or this one's at the end), gathered. Not to be computed.
plan::PlanT shifted_and_gathered();

// y = x, sliced, and sums of its blocks that ride in that sweep; total folds them. Not to be computed.
plan::PlanT riding_sums();

// total() = sum over ranks and elements of a local g: a load of all of each rank's buffer.
plan::PlanT whole_sum();

// TwoHosts: threads that reach each other by address or by message (tests/worlds/two_hosts.h).
enum class World { Threads,
                   Messages,
                   TwoHosts };
inline const World every_world[] = {World::Threads, World::Messages, World::TwoHosts};

// Runs body(comm) on a thread a rank, with handles that live until all have returned. That of a rank whose REQUIRE failed
// is freed at once, so that the others do not wait for it.
void on_ranks(World world, int ranks, const std::function<void(stretto_comm_t *)> &body);

// A packed plan, to be called.
class Packed {
public:
    explicit Packed(const plan::PlanT &plan) : plan_(plan), bytes_(plan::pack(plan)) {}
    // 0, or a status.
    int operator()(stretto_comm_t *comm, std::vector<void *> argv) {
        describe_kernels(plan_);
        View view(bytes_.data(), {int64_t(bytes_.size())});
        return stretto_execute_v1(comm, view, dispatch, argv.data());
    }
    std::vector<uint8_t> &bytes() { return bytes_; }

private:
    plan::PlanT plan_;
    std::vector<uint8_t> bytes_;
};

// Floats with guards around them, which a kernel or a copy that goes too far overwrites.
class Floats {
public:
    explicit Floats(int64_t n, float value = -77) : data_(size_t(n + 2 * guard), value), n_(n) {
        for (int64_t i = 0; i < guard; i++) data_[size_t(i)] = data_[size_t(guard + n + i)] = 12345;
    }
    float *data() { return data_.data() + guard; }
    float &operator[](int64_t i) { return data_[size_t(guard + i)]; }
    bool intact() const {
        for (int64_t i = 0; i < guard; i++)
            if (data_[size_t(i)] != 12345 || data_[size_t(guard + n_ + i)] != 12345) return false;
        return true;
    }
    int64_t size() const { return n_; }

private:
    static constexpr int64_t guard = 32;
    std::vector<float> data_;
    int64_t n_;
};

// Distinct in rank and index; sums of them depend on the order.
inline float value(int rank, int64_t i) { return float((i * 7919 + rank * 104729) % 10007) / 3.f - 1234.5f; }

// The sum over ranks in rank order.
inline float sum_of_values(int ranks, int64_t i) {
    float sum = value(0, i);
    for (int r = 1; r < ranks; r++) sum += value(r, i);
    return sum;
}

inline std::vector<int64_t> lengths(int ranks) { return {0, 1, ranks - 1, ranks, ranks + 1, 1000, 100003}; }

inline const int all_ranks[] = {1, 2, 3, 4, 5, 8};

}  // namespace stretto::test
