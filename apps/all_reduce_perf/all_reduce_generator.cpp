// The all-reduce alone.
#include <stretto/stretto.h>

using namespace stretto;

struct SumOverRanks : Generator<SumOverRanks> {
    Size n{"n"};
    Input<Tensor> in{"in", f32, {n}, partial(Sum)};  // each rank holds one addend
    Output<Tensor> out{"out", f32, {n}};

    void algorithm() {
        in.range(-1, 1);
        out = all_reduce(in);
    }

    // Every rank loads all addends of all elements: one exchange fewer.
    NamedSchedule one_shot{"one_shot", [this](Schedule &s) { s.collective(out, OneShot); }};
    // Every rank sums its slice and stores it to all.
    NamedSchedule two_phase{"two_phase", [this](Schedule &s) { s.collective(out, TwoPhase); }};
};
STRETTO_REGISTER_GENERATOR(SumOverRanks, all_reduce)
