// Lesson 1: stochastic gradient descent on four ranks.
//
// A Stretto program says what is computed from tensors of which every rank holds a part. It says
// nothing of buffers, messages or waiting. This lesson writes one, prints it, runs it at once (the
// JIT) on four threads, and checks it.
#include <stretto/stretto.h>
#include <algorithm>
#include <cmath>
#include <iostream>
#include "claim.h"

using namespace stretto;
using lesson::claim;
using lesson::title;

int main() {
    // ---- The algorithm
    //
    // A Size is an extent that is known when the compiled program is called, a Var an index, as in
    // Halide. Everything has a name: errors and printed programs use it.
    Size n{"n"};
    Var i{"i"};

    // Arguments. The layout says what each rank holds of a tensor: of the gradient an addend, the
    // gradient itself being the sum over the ranks; of the parameters (the default, `replicated`)
    // the whole, bit for bit the same everywhere.
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    Input<float> lr{"lr"};

    // Definitions. A communication defines a tensor; index notation defines one element by element.
    // ranks() is the number of ranks. `p` means the parameters as they are when the call begins;
    // update() says what they are when it returns.
    Tensor gsum{"gsum"}, p1{"p1"};
    gsum = all_reduce(g);
    p1(i) = p(i) - lr * gsum(i) / ranks();
    update(p, p1);

    // The second argument is the order of the compiled function's arguments.
    Program sgd{"sgd", {g, p, lr}};
    title("the program, with the layout of each tensor, which is inferred");
    std::cout << sgd;

    // ---- Running it
    //
    // Every rank r has a target of its own, and the loss is the mean over ranks of |p - target_r|^2
    // / 2. So rank r's addend of the gradient is p - target_r, and the best p is the mean of the
    // targets.
    const int P = 4, N = 1000, steps = 60;
    auto target = [](int r, int k) { return float((k * 37 + r * 11) % 100) / 100; };
    std::vector<std::vector<float>> parameters(P, std::vector<float>(N, 0.0f));

    Compiled step = compile(sgd, Schedule(sgd));  // an empty schedule: lesson 3 has others
    run(threads(P), [&](Communicator &c) {
        // This is one rank. It owns its vectors and calls the same program with the same scalars as
        // the others, as often as they do. Where they must wait for each other is the compiler's
        // business.
        std::vector<float> gradient(N), &mine = parameters[c.rank()];
        for (int s = 0; s < steps; s++) {
            for (int k = 0; k < N; k++) gradient[k] = mine[k] - target(c.rank(), k);
            step(c, gradient, mine, 0.3f);
        }
    });

    title("after " + std::to_string(steps) + " steps on " + std::to_string(P) + " threads");
    float furthest = 0;
    for (int k = 0; k < N; k++) {
        float mean = 0;
        for (int r = 0; r < P; r++) mean += target(r, k) / P;
        furthest = std::max(furthest, std::abs(parameters[0][k] - mean));
    }
    std::printf("p[1] = %g, furthest from the mean of the targets: %.2g\n", parameters[0][1], furthest);
    claim("the parameters are the mean of the targets, up to rounding", furthest < 1e-5f);
    bool same = std::all_of(parameters.begin(), parameters.end(), [&](auto &x) { return x == parameters[0]; });
    claim("they are the same on all ranks, bit for bit", same);

    // ---- Checking it
    //
    // check() runs the compiled program on threads, for several numbers of ranks and sizes (also 0,
    // 1, and sizes that do not divide), and compares every output on every rank with the reference:
    // an interpreter of programs that shares no code with the compiler. Not a tolerance, bits.
    title("check(sgd, schedule, {1, 2, 3, 4, 8})");
    CheckReport report = check(sgd, Schedule(sgd), {1, 2, 3, 4, 8});
    std::cout << to_string(report);
    claim("no element differs from the reference", report.ok());

    // ---- When a call is wrong
    //
    // A compiled program refuses what it cannot use, with the argument's name. Here p is one
    // element short.
    title("a call with a short p");
    std::string refusal;
    try {
        run(threads(2), [&](Communicator &c) {
            std::vector<float> gradient(N), too_short(N - 1);
            step(c, gradient, too_short, 0.3f);
        });
    } catch (const RuntimeError &e) {
        refusal = e.what();
    }
    std::cout << refusal << "\n";
    claim("the call is refused, and the message names the argument", refusal.find("argument p:") != std::string::npos);
    return lesson::status();
}
