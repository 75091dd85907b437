// Adam, one element at a time, in the order of the language: what the schedules must give bit for bit (compiled without
// contraction), and the peer but for rounding.
#pragma once
#include <cmath>
#include <cstdint>

#include "apps/perf/values.h"

namespace optimizer_perf {

struct Hyperparameters {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};

// The scalars of one step, in f64 until they are rounded.
struct StepScalars {
    float b1, a1, b2, a2, c1, c2, eps;
    StepScalars(const Hyperparameters &h, int64_t step)
        : b1(float(h.beta1)),
          a1(float(1 - h.beta1)),
          b2(float(h.beta2)),
          a2(float(1 - h.beta2)),
          c1(float(h.lr / (1 - std::pow(h.beta1, double(step))))),
          c2(float(1 / std::sqrt(1 - std::pow(h.beta2, double(step))))),
          eps(float(h.eps)) {}
};

struct State {
    float p, m, v;
};

// Before the first step.
inline State initial(int64_t i) {
    float x = perf::value<perf::Element::Float>(99, i);
    return {x - 0.5f, 0.25f * x, 0.125f + 0.5f * x};
}

// After `steps` steps of `ranks` ranks whose gradients stay as perf::value has them.
inline State serial_steps(perf::Element element, int64_t i, int ranks, int steps) {
    State s = initial(i);
    for (int step = 1; step <= steps; step++) {
        StepScalars k(Hyperparameters{}, step);
        float sum = perf::value(element, 0, i);
        for (int r = 1; r < ranks; r++) sum = sum + perf::value(element, r, i);
        float avg = sum / float(ranks);
        s.m = k.b1 * s.m + k.a1 * avg;
        s.v = k.b2 * s.v + k.a2 * avg * avg;
        s.p = s.p - k.c1 * s.m / (std::sqrt(s.v) * k.c2 + k.eps);
    }
    return s;
}

}  // namespace optimizer_perf
