// Things that are compared are timed in turn, in batches, so that what disturbs the machine for a while disturbs all of
// them; medians over rounds of what is computed within a round.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "apps/perf/rank.h"

namespace stretto::test {

constexpr double batch_seconds = 0.02;

inline double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + long(v.size() / 2), v.end());
    return v[v.size() / 2];
}

class Interleaved {
    size_t kinds_;
    int rounds_;
    std::vector<double> by_rank_;               // of the batch that was just timed
    std::vector<std::vector<double>> seconds_;  // [round][kind]: a step, of the slowest rank

public:
    Interleaved(size_t kinds, int rounds, int ranks)
        : kinds_(kinds),
          rounds_(rounds),
          by_rank_(size_t(ranks)),
          seconds_(size_t(rounds), std::vector<double>(kinds)) {}

    // Collective over ranks. barrier: of the ranks. prepare(k): before every step of bodies[k], outside the clock; ends with
    // a barrier.
    template <class Barrier, class Prepare>
    void run(int rank, Barrier &&barrier, Prepare &&prepare,
             const std::vector<std::function<void()>> &bodies) {
        auto batch = [&](size_t k, int steps) {
            double total = 0;
            for (int i = 0; i < steps; i++) {
                prepare(k);
                double begin = perf::seconds_now();
                bodies[k]();
                total += perf::seconds_now() - begin;
            }
            by_rank_[size_t(rank)] = total;
            barrier();
            double slowest = *std::max_element(by_rank_.begin(), by_rank_.end());
            barrier();
            return slowest / steps;
        };
        std::vector<int> steps(kinds_, 1);  // the same on every rank: from the same times
        for (size_t k = 0; k < kinds_; k++) {
            batch(k, 2);
            double step = batch(k, 1);
            for (int n = 4; step * n < batch_seconds && n < 5000; n *= 4) step = batch(k, n);
            steps[k] = std::max(1, int(std::ceil(batch_seconds / step)));
        }
        for (int round = 0; round < rounds_; round++) {
            for (size_t i = 0; i < kinds_; i++) {
                size_t k = (i + size_t(round)) % kinds_;
                double t = batch(k, steps[k]);
                if (rank == 0) seconds_[size_t(round)][k] = t;
            }
        }
    }

    // The median over rounds of a function of the times of a round.
    template <class F>
    double median_of(F &&f) const {
        std::vector<double> values;
        for (auto &round : seconds_) values.push_back(f(round));
        return median(values);
    }
    double median_time(size_t kind) const {
        return median_of([&](const std::vector<double> &t) { return t[kind]; });
    }
};

}  // namespace stretto::test
