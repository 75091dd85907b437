// Ranks that are processes: zero-copy windows, several communicators, disagreement, refusals,
// nothing left behind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "child.h"

using namespace stretto::test;

namespace {

std::vector<std::string> sorted(std::vector<std::string> lines) {
    std::sort(lines.begin(), lines.end());
    return lines;
}

}  // namespace

TEST_CASE("processes: every rank's stores reach every window") {
    int before = files_in_shm();
    for (int ranks : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(ranks);
        if (ranks == 1) continue;  // one rank has no window: any memory is its own
        Child job(run_ranks(ranks, {"exchange"}));
        std::vector<std::string> lines = sorted(job.lines()), expected;
        for (int r = 0; r < ranks; r++)
            expected.push_back("rank " + std::to_string(r) + ": exchanged");
        CHECK(lines == expected);
        CHECK(job.wait() == 0);
    }
    CHECK(files_in_shm() == before);
}

TEST_CASE("processes: epochs wrap around") {
    for (const char *start : {"253", "2147483645", "4294967293"}) {
        Child job(run_ranks(3, {"exchange"}), {{"STRETTO_TEST_EPOCH", start}});
        CHECK(job.lines().size() == 3);
        CHECK(job.wait() == 0);
    }
}

TEST_CASE("processes: two communicators") {
    Child job(run_ranks(3, {"two_communicators"}));
    CHECK(sorted(job.lines()) ==
          std::vector<std::string>{"rank 0: both", "rank 1: both", "rank 2: both"});
    CHECK(job.wait() == 0);
}

TEST_CASE("processes: a communicator in another order on the same heap, with 200 places; the parent is freed first") {
    for (int ranks : {2, 3, 8}) {
        Child job(run_ranks(ranks, {"sub"}));
        std::vector<std::string> expected;
        for (int r = 0; r < ranks; r++) expected.push_back("rank " + std::to_string(r) + ": turned");
        CHECK(sorted(job.lines()) == expected);
        CHECK(job.wait() == 0);
    }
}

TEST_CASE("processes: ranks that disagree (nccl#1417)") {
    Child job(run_ranks(3, {"disagree"}));
    std::string text =
        ": STRETTO_MISMATCH ranks differ in size n of sweep: rank 1 has 409598, ranks 0, 2 have "
        "409600";
    CHECK(sorted(job.lines()) ==
          std::vector<std::string>{"rank 0" + text, "rank 1" + text, "rank 2" + text});
}

TEST_CASE("processes: memory that is not there is refused, not found missing later") {
    Child job(run_ranks(2, {"no_memory"}));
    std::vector<std::string> lines = job.lines();
    CHECK(lines.size() == 4);
    int host = 0, window = 0;
    for (const std::string &l : lines) {
        host += l.find("stretto_malloc: 34359738368 bytes: the host has ") != std::string::npos;
        window += l.find("stretto_malloc: 1099511627776 bytes: the host has ") !=
                  std::string::npos;
    }
    CHECK(host == 2);
    CHECK(window == 2);
    CHECK(job.wait() == 0);
}

TEST_CASE("processes: little address space makes smaller windows") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    printf("skipped here: little address space: sanitizers need more of it than the test leaves\n");
    return;
#endif
    // 8 windows of 64 GiB do not fit in 40 GB.
    std::vector<std::string> command{"bash", "-c", "ulimit -v 40000000; exec \"$@\"", "bash"};
    for (std::string &word : run_ranks(8, {"exchange"})) command.push_back(word);
    Child job(command);
    CHECK(job.lines().size() == 8);
    CHECK(job.wait() == 0);
}
