// Fusion is no special case of Adam: optimizers made of random elementwise chains become one sweep, with the right bits.
#include <doctest/doctest.h>

#include "tests/random_optimizer.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("random optimizers are one stage each") {
    for (auto [seed, states, operations] : random_optimizers) {
        RandomOptimizer o(seed, states, operations);
        INFO(o.program);
        Schedule s = o.fused();
        CHECK(compile(o.program, s).plan().stages.size() == 1);
        CheckOptions small;
        small.ranks = {1, 2, 3};
        small.sizes = {0, 5, 1009};
        CheckReport report = check(o.program, s, small);
        CHECK_MESSAGE(report.ok(), to_string(report));
    }
}
