// Training on the ranks of one world, with several schedules of the optimizer side by side.
#pragma once
#include <functional>
#include <stretto/runtime.hpp>
#include "images.h"

namespace digits {

// Adam as one schedule compiled it.
struct Optimizer {
    const char *name;
    int (*update)(stretto_comm_t *, halide_buffer_t *g, halide_buffer_t *p, halide_buffer_t *m, halide_buffer_t *v, double lr,
                  double beta1, double beta2, double eps, int64_t step);
    bool state_on_slices;  // m and v are this rank's slices
};
const std::vector<Optimizer> &optimizers();

struct Settings {
    int64_t epochs = 60, batch = 64, hidden1 = 256, hidden2 = 128;  // batch: of all ranks together
    double learning_rate = 3e-3;                                    // falls to 0 in equal steps
    uint64_t seed = 1;
    std::vector<Optimizer> schedules = optimizers();
    std::function<void(int64_t epoch)> progress;  // called by rank 0 before each epoch
};
int64_t parameter_count(const Settings &);

// Of one schedule, the same on every rank.
struct Outcome {
    std::string schedule;
    double accuracy = 0;                     // on the test images, 0 to 1
    std::vector<double> step_us, update_us;  // of each step the slowest rank's; step: gradients and update
    double moved_bytes = 0;                  // by the update, a rank (mean) and step
    int64_t state_bytes = 0;                 // m and v, of the rank that has most
    uint64_t weights = 0;                    // hash of rank 0's
    bool ranks_agree = true;                 // all ranks have these weights, bit for bit
};

// Called by every rank of a world. All schedules start from the same weights and see the same images; each step is done with
// one after the other, so that their times compare. Throws stretto::RuntimeError.
std::vector<Outcome> train(stretto::Communicator &, const Data &, const Settings &);

double median(std::vector<double>);

}  // namespace digits
