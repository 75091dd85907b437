// stretto_mpi: messages over the MPI it was built with, under that MPI's mpirun.
#include <doctest/doctest.h>

#include <algorithm>

#include "child.h"
#include "tests/skip.h"

using namespace stretto::test;

namespace {

std::vector<std::string> launch(int ranks, const char *mode, Environment environment = {}) {
    Child job({MPIEXEC, "-n", std::to_string(ranks), MPI_PROGRAM, mode}, environment);
    std::vector<std::string> lines = job.lines();
    CHECK(job.wait() == 0);
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> from_all(int ranks, const std::vector<std::string> &texts) {
    std::vector<std::string> lines;
    for (int r = 0; r < ranks; r++) {
        for (const std::string &t : texts) lines.push_back("rank " + std::to_string(r) + ": " + t);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

}  // namespace

TEST_CASE("mpi: messages of all lengths, in one piece and in several") {
    for (int ranks : {1, 2, 3, 5}) {
        CHECK(launch(ranks, "exchange") == from_all(ranks, {"exchanged"}));
        CHECK(launch(ranks, "exchange", {{"STRETTO_TEST_PIECE", "4096"}}) ==
              from_all(ranks, {"exchanged"}));
    }
}

TEST_CASE("mpi: communicators of some ranks, in another order") {
    for (int ranks : {2, 3, 5}) CHECK(launch(ranks, "sub") == from_all(ranks, {"fine"}));
}

TEST_CASE("mpi: ranks that disagree") {
    std::string text =
        "STRETTO_MISMATCH ranks differ in size n of adam: rank 1 has 5, ranks 0, 2 have 4";
    CHECK(launch(3, "disagree") == from_all(3, {text, "again: " + text}));
}

TEST_CASE("mpi: ranks that differ in a size receive nothing") {
    std::string text =
        "STRETTO_MISMATCH ranks differ in size n of all_gather: rank 0 has 20000, rank 1 has 100000";
    CHECK(launch(2, "sizes") == from_all(2, {text, "again: " + text}));
}

TEST_CASE("mpi: a failure reaches ranks that wait for messages and in barriers") {
    std::string text = "STRETTO_KERNEL rank 1 failed in call 3 (adam): kernel 1 returned -14";
    CHECK(launch(3, "fail") == from_all(3, {text, "again: " + text}));
}

TEST_CASE("mpi: who comes after the others have given up is told, though all they sent before is there") {
    for (int ranks : {2, 3}) {
        std::vector<std::string> lines = launch(ranks, "slow", {{"STRETTO_TIMEOUT", "2"}});
        CHECK(lines.size() == size_t(2 * ranks));
        for (const std::string &line : lines) {
            CAPTURE(line);
            CHECK(line.find("rank 1 has not answered within 2 s (STRETTO_TIMEOUT)") != std::string::npos);
        }
    }
}

TEST_CASE("mpi: who waits sleeps") {
    CHECK(launch(3, "waits") == from_all(3, {"fine", "again: fine"}));
}

TEST_CASE("mpi: the deadline") {
    std::vector<std::string> lines = launch(3, "late", {{"STRETTO_TIMEOUT", "2"}});
    REQUIRE(lines.size() == 6);
    for (const std::string &line : lines) {
        CAPTURE(line);
        CHECK(line.find("STRETTO_TIMEOUT rank ") != std::string::npos);
        CHECK(line.find("not answered within 2 s (STRETTO_TIMEOUT)") != std::string::npos);
    }
}
