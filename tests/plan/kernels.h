// The kernels of the hand-made plans: C++ functions with the arguments that Halide's kernels have. All of floats. As
// Halide does, they check that what they load is inside the view, and return an error when it is not.
#pragma once
#include "collectives/plan/plan_generated.h"

namespace stretto::test {

enum Kernel {
    // Peer sums: chunk(i..) = first ? g(i..) : chunk(i..) + g(i..)
    add_1d,
    add_2d,
    // out(i..) = s(i..), from a chunk, a local or another rank's buffer
    copy_0d,
    copy_1d,
    copy_2d,
    // out(i..) = g0(i..) + g1(i..) + ...: all addends at once
    add_2_ranks_1d,
    add_4_ranks_1d,
    add_2_ranks_2d,
    add_4_ranks_2d,
    // m(i) = 0.5 m(i) + s(i) ; p(i) = p(i) - rate m(i), in place
    momentum,
    momentum_2_ranks,
    // rate = lr / 2 ; ok = lr > 0 ; n, ranks and rank are passed on as they came
    momentum_scalars,
    // out(block) = sum of x(lo..hi), in order, from 0
    block_sum,
    // out() = b(0) + b(1) + ...
    fold,
    // chunk() = (first ? 0 : chunk()) + sum of all of g
    add_whole,
    // returns -7
    failing,
    // momentum_2_ranks, and p to the other rank as well
    momentum_2_ranks_to_peers,
    // out(i) = s(max(i - 1, 0))
    left_neighbour,
    kernel_count
};

// Calls one; of -1 - kernel it says the hash of what the plan that this thread has described promises.
int dispatch(int kernel, void **argv);
void describe_kernels(const plan::PlanT &plan);

}  // namespace stretto::test
