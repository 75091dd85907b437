// Lesson 5, first half: a generator. The program of lessons 3 and 4 as a struct whose members are
// inputs, parameters, results and named schedules; registered, it becomes a program with a command
// line that compiles ahead of time:
//
//     lesson_05_generator
//         lists what it holds
//     lesson_05_generator -g momentum schedule=fused --check 1,2,3
//         compares the compiled kernels with the reference
//     lesson_05_generator -g momentum schedule=fused -f momentum_fused -o DIR
//         writes DIR/momentum_fused.a and DIR/momentum_fused.h
//     lesson_05_generator -g momentum schedule=fused -e graph,schedule,loop_nest,plan -o DIR
//         for people
//     lesson_05_generator -r halide_runtime -o DIR
//         Halide's run-time support, DIR/halide_runtime.a, once for all libraries
//
// tutorials/CMakeLists.txt has the two lines that do this in a build: add_stretto_generator and
// add_stretto_library. lesson_05_use.c and lesson_05_use.cpp use the result, from C and from C++.
#include <stretto/stretto.h>

using namespace stretto;

struct Momentum : Generator<Momentum> {
    // A parameter is fixed when the generator runs: `grad_type=float16` on its command line.
    GeneratorParam<Type> grad_type{"grad_type", f32};
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", grad_type, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}};
    // An expression without an index is computed once a call, here in double precision.
    Input<double> lr{"lr"}, decay{"decay"};
    Tensor gsum{"gsum"}, m1{"m1"}, p1{"p1"};

    void algorithm() {
        // --check and random tests draw arguments from here. What require() says is checked before
        // ranks communicate.
        decay.range(0, 0.99);
        lr.range(1e-4, 1e-1);
        require(decay >= 0 && decay < 1, "decay is in [0, 1)");

        gsum = all_reduce(cast<float>(g));
        m1(i) = cast<float>(decay) * m(i) + gsum(i) / ranks();
        p1(i) = p(i) - cast<float>(lr) * m1(i);
        update(p, p1);
        update(m, m1);
    }

    // A named schedule can be used by another. `default` is there without being written: no verbs.
    // clang-format off
    NamedSchedule on_slices{"on_slices", [this](Schedule &s) {
        s.reorder(s.split(gsum).ag, {m1, p1});
        s.as_slice(m);
    }};
    NamedSchedule fused{"fused", [this](Schedule &s) {
        on_slices(s);
        s.fuse_all();
    }};
    // clang-format on
};
STRETTO_REGISTER_GENERATOR(Momentum, momentum)
