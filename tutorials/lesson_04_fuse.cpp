// Lesson 4: fuse. The sweep, its loop nest with ranks, and what it gains.
//
// A sweep is a loop over a slice whose loads and stores may name ranks. A reduce-scatter is one:
// load the sum over the ranks of element i. An all-gather is one: store element i to every rank. So
// reduce-scatter, computation and all-gather can be one loop: each element of the gradient is
// loaded once, the new parameters are stored once, to all ranks, and nothing lies between. That is
// what fuse asks for.
#include <stretto/stretto.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <tuple>
#include <vector>
#include "claim.h"
#include "lower/loop_nest.h"
#include "lower/lower.h"

using namespace stretto;
using lesson::claim;
using lesson::title;

namespace {

constexpr int P = 2;
constexpr int64_t N = 1 << 20;  // 4 MB a tensor
constexpr int steps = 10, rounds = 5;

// The loops that a schedule is lowered to.
std::string loops(const Schedule &s) {
    return loop_nest(lower_to_stages(s.graph()));
}
size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
    return n;
}

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

// One rank of one schedule: its memory, and the times of its steps.
class Rank {
    Communicator &c;
    int64_t begin, end;
    float *g, *p, *m;

public:
    Rank(Communicator &c, bool sliced) : c(c) {
        std::tie(begin, end) = sliced ? c.slice(N) : std::pair<int64_t, int64_t>(0, N);
        g = c.allocate<float>(N);  // memory that other ranks reach, whether ranks are threads or processes
        p = c.allocate<float>(N);
        m = c.allocate<float>(end - begin);
        std::fill(p, p + N, 1.0f);
        std::fill(m, m + (end - begin), 0.0f);
    }
    // Microseconds of a step, the median of `steps`. Before each step the gradient is written anew,
    // as a backward pass does.
    double time(const Compiled &f) {
        std::vector<double> us;
        for (int s = 0; s < steps; s++) {
            for (int64_t k = 0; k < N; k++) g[k] = float((k + c.rank() + s) % 17) - 8;
            c.barrier();
            auto start = std::chrono::steady_clock::now();
            f(c, view(g, {N}), view(p, {N}), view(m, {end - begin}, {begin}), 0.01f);
            us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
        }
        return median(us);
    }
    std::vector<float> parameters() const {
        return {p, p + N};
    }
};

#ifdef LESSON_04_MPI
const char *const without_mpi = "mpiexec failed, see above";

// Microseconds of a step of lesson_04_mpi on P processes, 0 where MPI cannot run.
double time_of_mpi() {
    std::string command = std::string(LESSON_04_MPIEXEC) + " -n " + std::to_string(P) + " " + LESSON_04_MPI + " " +
                          std::to_string(N) + " " + std::to_string(steps);
    double us = 0;
    std::FILE *output = popen(command.c_str(), "r");
    if (!output) return 0;
    if (std::fscanf(output, "%lf", &us) != 1) us = 0;
    return pclose(output) == 0 ? us : 0;
}
#else
const char *const without_mpi = "this build found no MPI";

double time_of_mpi() {
    return 0;
}
#endif

}  // namespace

int main() {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}};
    Input<float> lr{"lr"};
    Tensor gsum{"gsum"}, m1{"m1"}, p1{"p1"};
    gsum = all_reduce(g);
    m1(i) = 0.9f * m(i) + gsum(i) / ranks();
    p1(i) = p(i) - lr * m1(i);
    update(p, p1);
    update(m, m1);
    Program momentum{"momentum", {g, p, m, lr}};

    // ---- Loop nests
    //
    // Without verbs: one sweep for the all-reduce, whose result is written to memory, and one for
    // the computation, which reads it again. (Elementwise definitions between two communications
    // share a loop without being asked.)
    Schedule plain(momentum);
    title("default");
    std::cout << loops(plain);

    // On slices: less computation, but three loops: sum a slice, compute on it, send it to the
    // others.
    Schedule s(momentum);
    auto [rs, ag] = s.split(gsum);
    s.reorder(ag, {m1, p1});
    s.as_slice(m);
    title("on slices");
    std::cout << loops(s);

    // Fused: one. g@r is rank r's addend; the ranks wait for each other when they enter and before
    // they leave.
    Group sweep = s.fuse({rs, m1, p1, s.gather_of(p1)});
    title("fused: " + to_string(sweep));
    std::cout << loops(s);
    claim("the default schedule has two loops", count(loops(plain), "for i in") == 2);
    claim("the fused one has one", count(loops(s), "for i in") == 1 && sweep.sweeps == 1);

    // fuse_all() does the same without naming the stages: each joins the Group of its latest
    // producer where that is legal.
    Schedule all(momentum);
    all.reorder(all.split(gsum).ag, {m1, p1});
    all.as_slice(m);
    all.fuse_all();
    claim("fuse_all finds it", loops(all) == loops(s));

    // What cannot be one sweep is refused, with the reason.
    title("a computation that reads what the sweep itself gathers");
    Schedule split_only(momentum);
    auto [rs2, ag2] = split_only.split(gsum);
    std::string refusal;
    try {
        split_only.fuse({rs2, ag2, m1});
    } catch (const Error &e) {
        refusal = e.what();
    }
    std::cout << refusal << "\n";
    claim("it is refused, and the part that is legal is given", count(refusal, "Legal: s.fuse({gsum.rs, gsum.ag})") == 1);

    // ---- What it gains
    //
    // Both schedules, in turn, on two threads. MPI_Allreduce and an update by hand, on two
    // processes, is what lesson_04_mpi.cpp does. This is a glance at one size on a machine that may
    // be busy, so no claim is made of it; apps/optimizer_perf measures properly, and ./run bench
    // calls that.
    Compiled by_default = compile(momentum, plain), fused = compile(momentum, s);
    std::vector<double> default_us, fused_us, mpi_us;
    bool same_bits = true;
    for (int round = 0; round < rounds; round++) {
        double slowest[2][P];
        std::vector<float> result[2][P];
        run(threads(P), [&](Communicator &c) {
            Rank whole(c, false), sliced(c, true);
            slowest[0][c.rank()] = whole.time(by_default);
            slowest[1][c.rank()] = sliced.time(fused);
            result[0][c.rank()] = whole.parameters();
            result[1][c.rank()] = sliced.parameters();
        });
        default_us.push_back(*std::max_element(slowest[0], slowest[0] + P));
        fused_us.push_back(*std::max_element(slowest[1], slowest[1] + P));
        for (auto &of_schedule : result)
            for (auto &x : of_schedule) same_bits = same_bits && x == result[0][0];
        if (double us = time_of_mpi()) mpi_us.push_back(us);
    }
    title("4 MB of gradient, 2 ranks, microseconds a step, medians");
    double f = median(fused_us);
    std::printf("default                  %8.0f   %.2f times the fused step's\n", median(default_us), median(default_us) / f);
    std::printf("fused                    %8.0f\n", f);
    if (!mpi_us.empty())
        std::printf("MPI_Allreduce + update   %8.0f   %.2f times\n", median(mpi_us), median(mpi_us) / f);
    else
        std::printf("MPI_Allreduce + update   not measured: %s\n", without_mpi);
    claim("the bits are the same, schedule by schedule and rank by rank", same_bits);
    return lesson::status();
}
