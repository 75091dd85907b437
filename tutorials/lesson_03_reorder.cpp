// Lesson 3: schedules. split and reorder, the graphs before and after, and the same bits.
//
// A schedule is a value beside the program: a list of verbs, each of which rewrites the graph of
// the program into another graph that computes the same thing in another way. It decides when and
// how much is communicated, where values are computed, what memory is needed. It cannot change a
// bit of the result: an illegal verb is refused when it is written.
#include <stretto/stretto.h>
#include <cmath>
#include <cstring>
#include <iostream>
#include <vector>
#include "claim.h"

using namespace stretto;
using lesson::claim;
using lesson::title;

namespace {

constexpr int P = 3;
constexpr int64_t N = 1000;  // P does not divide it

float gradient(int rank, int64_t k) {
    return std::sin(float(k * 7 + rank * 13)) * std::pow(10.0f, float((k + rank) % 5));
}
float parameter(int64_t k) {
    return std::cos(float(k)) * 100;
}

// The parameters of rank 0 after one call on P threads. m_sliced: the momentum is passed as slices.
std::vector<float> step(const Program &program, const Schedule &s, bool m_sliced, bool &ranks_agree) {
    Compiled f = compile(program, s);
    std::vector<std::vector<float>> p(P);
    run(threads(P), [&](Communicator &c) {
        std::vector<float> g, m, &mine = p[c.rank()];
        auto [begin, end] = m_sliced ? c.slice(N) : std::pair<int64_t, int64_t>(0, N);
        for (int64_t k = 0; k < N; k++) {
            g.push_back(gradient(c.rank(), k));
            mine.push_back(parameter(k));
        }
        for (int64_t k = begin; k < end; k++) m.push_back(parameter(k) / 8);
        f(c, g, mine, view(m.data(), {end - begin}, {begin}), 0.01f);
    });
    for (auto &x : p) ranks_agree = ranks_agree && x == p[0];
    return p[0];
}

// The same without ranks: addends are added in rank order. (Compiled with -ffp-contract=off, so
// that a * b + c rounds twice.)
std::vector<float> serial_step() {
    std::vector<float> p;
    for (int64_t k = 0; k < N; k++) {
        float sum = gradient(0, k);
        for (int r = 1; r < P; r++) sum += gradient(r, k);
        float m = 0.9f * (parameter(k) / 8) + sum / float(P);
        p.push_back(parameter(k) - 0.01f * m);
    }
    return p;
}

}  // namespace

int main() {
    // SGD with momentum: as in lesson 1, and a state m.
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

    title("without verbs");
    std::cout << momentum;

    // ---- split: an all-reduce is a reduce-scatter, after which each rank has its slice of the
    // sum, and an all-gather of the slices. The program is longer, the work the same.
    Schedule s(momentum);
    auto [rs, ag] = s.split(gsum);
    title("after s.split(gsum)");
    std::cout << to_string(s.graph());

    // ---- reorder: what reads the all-gather is computed on slices instead, and the results are
    // gathered. Each rank computes 1/P of m1 and p1. Two gathers now where there was one: m is
    // wanted whole too.
    s.reorder(ag, {m1, p1});
    title("after s.reorder(ag, {m1, p1})");
    std::cout << to_string(s.graph());
    claim("m1 and p1 are computed on slices",
          s.graph().find("m1")->layout == sliced(0) && s.graph().find("p1")->layout == sliced(0));

    // The set must be closed: p1 reads m1, which reads the gathered sum.
    title("s.reorder(ag, {p1}) would be refused");
    Schedule open(momentum);
    std::string refusal;
    try {
        open.reorder(open.split(gsum).ag, {p1});
    } catch (const Error &e) {
        refusal = e.what();
    }
    std::cout << refusal << "\n";
    claim("the error gives the set that is legal", refusal.find("s.reorder(gsum.ag, {m1, p1})") != std::string::npos);

    // ---- as_slice: each rank only ever reads its slice of m, so it need keep no more: the caller
    // passes the slice, and the gather of m1 is gone. Memory and traffic of the state are divided
    // by P. (This is what ZeRO does for Adam.)
    s.as_slice(m);
    title("after s.as_slice(m)");
    std::cout << to_string(s.graph());
    claim("m is not gathered any more", s.graph().find("m1.ag") == nullptr);

    // ---- A schedule is a value: it prints, and its text parses. The command line of a generator
    // (lesson 5) takes such a file, schedule=@file, and an artefact's plan holds the text.
    title("as text, and as C++");
    std::cout << s.text() << "\n"
              << s.cpp();
    claim("the text parses to the same graph", to_string(Schedule::parse(momentum, s.text()).graph()) == to_string(s.graph()));

    // ---- The same bits
    //
    // Floating-point sums depend on their order. So the order belongs to the program and not to the
    // schedule: over ranks it is rank 0, 1, 2, ... whatever algorithm, slice or sweep does it. The
    // gradients here have addends of very different sizes.
    Schedule one_shot(momentum), two_phase(momentum), only_split(momentum), fused = s;
    one_shot.collective(gsum, Algorithm::OneShot);    // every rank sums everything
    two_phase.collective(gsum, Algorithm::TwoPhase);  // each sums its slice and hands it to the others
    only_split.split(gsum);
    fused.fuse_all();  // lesson 4
    struct {
        const char *name;
        Schedule schedule;
        bool m_sliced;
    } schedules[] = {
        {"default", Schedule(momentum), false},
        {"one-shot", one_shot, false},
        {"two-phase", two_phase, false},
        {"split", only_split, false},
        {"on slices", s, true},
        {"fused", fused, true},
    };
    title("one step on 3 ranks under six schedules");
    std::vector<float> expected = serial_step();
    bool ranks_agree = true;
    for (auto &x : schedules) {
        std::vector<float> bits = step(momentum, x.schedule, x.m_sliced, ranks_agree);
        claim(std::string(x.name) + " has the bits of the serial loop",
              std::memcmp(bits.data(), expected.data(), N * sizeof(float)) == 0);
    }
    claim("in each case all ranks have the same", ranks_agree);

    // Had another order been taken, it would show.
    int64_t differ = 0;
    for (int64_t k = 0; k < N; k++) {
        float forwards = (gradient(0, k) + gradient(1, k)) + gradient(2, k);
        float backwards = (gradient(2, k) + gradient(1, k)) + gradient(0, k);
        differ += forwards != backwards;
    }
    std::printf("in the opposite order %lld of %lld sums would differ\n", (long long)differ, (long long)N);
    claim("the order of these sums matters", differ > 0);
    return lesson::status();
}
