// The library in a C program gives the bits of the reference: with ranks as threads, as processes under stretto_run and
// mpirun, and over messages of MPI.
#include <cstdio>
#include <map>
#include <sstream>

#include <stretto/stretto.h>
#include "../runtime/child.h"
#include "../skip.h"
#include "lang/reference/random_inputs.h"

#include <doctest/doctest.h>

using namespace stretto;
using stretto::test::Child;

namespace {

struct Hashes {
    uint64_t p = 0, m = 0, v = 0;
    bool operator==(const Hashes &o) const {
        return p == o.p && m == o.m && v == o.v;
    }
};
using Results = std::map<std::string, std::map<int64_t, Hashes>>;  // of a schedule and a size

// As in adam.c.
float value(uint32_t tensor, uint32_t rank, uint32_t i) {
    uint32_t x = i * 2654435761u + rank * 40503u + tensor * 97u + 1u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    return float(x >> 8) / 8388608.0f - 1.0f;
}
uint64_t hash(const HostTensor &t) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < t.count(); i++) {
        uint64_t x = (t.load(i).bits << 32 | uint32_t(i)) * 0x9e3779b97f4a7c15u;
        sum += x ^ x >> 29;
    }
    return sum;
}

// Three steps of Adam by the reference, which knows no schedule.
Hashes reference(const Program &adam, int64_t n, int ranks) {
    RunInputs in = random_inputs(adam.graph(), {{"n", n}}, ranks, 1);
    in.scalars.clear();
    auto set = [&](const char *name, double x) { in.scalars[name] = x; };
    set("lr", 1e-3), set("beta1", 0.9), set("beta2", 0.999), set("eps", 1e-8);
    auto fill = [&](const char *name, const std::function<float(uint32_t rank, uint32_t i)> &f) {
        for (size_t r = 0; r < in.tensors[name].size(); r++)
            for (int64_t i = 0; i < n; i++) in.tensors[name][r].set(i, double(f(uint32_t(r), uint32_t(i))));
    };
    fill("p", [](uint32_t, uint32_t i) { return value(0, 0, i); });
    fill("m", [](uint32_t, uint32_t i) { return value(1, 0, i) / 8; });
    fill("v", [](uint32_t, uint32_t i) { return (value(2, 0, i) + 1) / 8; });
    for (int64_t step = 1; step <= 3; step++) {
        in.scalars["step"] = step;
        fill("g", [&](uint32_t rank, uint32_t i) { return value(9 + uint32_t(step), rank, i); });
        RunResult out = interpret(adam.graph(), ranks, in);
        for (const char *t : {"p", "m", "v"}) in.tensors[t] = out.arguments.at(t);
    }
    return {hash(in.tensors["p"][0]), hash(in.tensors["m"][0]), hash(in.tensors["v"][0])};
}

// What the C program printed: p is the same on all ranks, m and v are sums of the ranks' parts.
Results run_program(const std::vector<std::string> &command, int ranks) {
    Results results;
    std::map<std::string, int> lines;
    Child job(command);
    for (auto &line : job.lines()) {
        char schedule[32];
        long long n;
        int rank;
        unsigned long long p, m, v;
        int read = sscanf(line.c_str(), "%31s n=%lld rank=%d: p=%llx m=%llx v=%llx", schedule, &n, &rank, &p, &m, &v);
        if (read != 6) {
            FAIL_CHECK(line);
            continue;
        }
        Hashes &h = results[schedule][n];
        int &seen = lines[schedule + std::to_string(n)];
        if (seen++)
            CHECK_MESSAGE(h.p == p, line);
        h.p = p, h.m += m, h.v += v;
    }
    CHECK(job.wait() == 0);
    for (auto &[what, count] : lines) CHECK_MESSAGE(count == ranks, what);
    return results;
}

const std::vector<int64_t> sizes = {0, 1, 2, 5, 1009, 70001};

void check_results(const Results &is, const std::map<int64_t, Hashes> &expected) {
    for (const char *schedule : {"default", "on_slices", "fused"}) {
        REQUIRE_MESSAGE(is.count(schedule), schedule);
        for (int64_t n : sizes) {
            INFO(schedule << ", n = " << n);
            REQUIRE(is.at(schedule).count(n));
            CHECK(is.at(schedule).at(n) == expected.at(n));
        }
    }
}

std::map<int64_t, Hashes> &expected_on(int ranks) {
    static std::map<int, std::map<int64_t, Hashes>> all;
    if (all.count(ranks)) return all[ranks];
    auto generator = make_generator("adam");
    const Program &adam = generator->program("adam");
    for (int64_t n : sizes) all[ranks][n] = reference(adam, n, ranks);
    return all[ranks];
}

bool is_installed(const std::string &program) {
    return Child({"sh", "-c", "command -v " + program}).wait() == 0;
}

}  // namespace

TEST_CASE("ranks as threads") {
    for (int ranks : {1, 2, 3}) check_results(run_program({ADAM, "threads", std::to_string(ranks)}, ranks), expected_on(ranks));
}

TEST_CASE("processes under stretto_run") {
    check_results(run_program({STRETTO_RUN, "-n", "3", ADAM, "env"}, 3), expected_on(3));
}

TEST_CASE("processes under mpirun, which only starts them") {
    if (!is_installed("mpirun")) {
        printf("mpirun is not installed\n");
        return;
    }
    check_results(run_program({"mpirun", "-n", "3", ADAM, "env"}, 3), expected_on(3));
}

#ifdef ADAM_MPI
TEST_CASE("messages over MPI") {
    check_results(run_program({MPIEXEC, "-n", "3", ADAM_MPI, "mpi"}, 3), expected_on(3));
}
#endif

TEST_CASE("the C program's sum over ranks and the number of ranks matter") {
    CHECK_FALSE(expected_on(2)[1009] == expected_on(3)[1009]);
}
