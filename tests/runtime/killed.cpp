// Under stretto_run, SIGKILL of one of four ranks in a loop: every other reports its number.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <regex>

#include "child.h"

using namespace stretto::test;

namespace {

// The process of a rank, after each of the job's has said which it is.
pid_t process_of(Child &job, int wanted) {
    pid_t found = 0;
    std::string line;
    for (int r = 0; r < 4; r++) {
        REQUIRE(job.line(&line));
        int rank = 0, pid = 0;
        REQUIRE(sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2);
        if (rank == wanted) found = pid;
    }
    return found;
}

}  // namespace

TEST_CASE("killed: rank 2 of 4, twenty times") {
    const int left_before = files_in_shm();
    for (int repeat = 0; repeat < 20; repeat++) {
        Child job(run_ranks(4, {"loop"}));
        std::string line;
        const pid_t victim = process_of(job, 2);
        stretto::runtime::sleep_microseconds(10'000 + 1700 * repeat);
        REQUIRE(kill(victim, SIGKILL) == 0);
        std::string expected =
            "rank 2 lost: its process " + std::to_string(victim) + " has ended; rank ";
        for (int r = 0; r < 3; r++) {
            REQUIRE(job.line(&line));
            CAPTURE(line);
            double at = 0;
            int rank = -1;
            REQUIRE(sscanf(line.c_str(), "rank %d: at %lf", &rank, &at) == 2);
            CHECK(line.find("STRETTO_PEER_LOST " + expected) != std::string::npos);
            CHECK(line.find(" (barrier)") != std::string::npos);
        }
        CHECK(job.wait() == 128 + SIGKILL);
    }
    CHECK(files_in_shm() == left_before);
}

TEST_CASE("killed: rank 0 leaves by _exit after a barrier (gloo#520)") {
    Child job(run_ranks(2, {"exit_early"}));
    std::string line;
    REQUIRE(job.line(&line));
    CHECK(std::regex_match(
        line,
        std::regex(
            "rank 1: STRETTO_PEER_LOST rank 0 lost: its process [0-9]+ has ended; rank 1 waits for "
            "it in call 1 \\(barrier\\)")));
    CHECK(job.wait() == 86);
}

TEST_CASE("killed: a rank of one pair of two is heard of in the other") {
    Child job(run_ranks(4, {"pairs"}));
    std::string line;
    const pid_t victim = process_of(job, 1);
    stretto::runtime::sleep_microseconds(20'000);
    REQUIRE(kill(victim, SIGKILL) == 0);
    const std::string lost = "STRETTO_PEER_LOST rank 1 lost: its process " + std::to_string(victim) + " has ended; rank 0 ";
    for (int r = 0; r < 3; r++) {
        REQUIRE(job.line(&line));
        CAPTURE(line);
        CHECK(line.find(lost) != std::string::npos);
        CHECK(line.find(" (in a communicator of the world's ranks 0, 1)") != std::string::npos);
    }
    CHECK(job.wait() == 128 + SIGKILL);
}

// Sanitizers have memory of their own, hundreds of gigabytes of it without pages.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// A dump of the windows would have 1 GB here, and of the holes of two windows far more.
TEST_CASE("killed: a rank that dumps core leaves the windows out, and its peers hear of it") {
    char folder[] = "/tmp/stretto-core-XXXXXX";
    REQUIRE(mkdtemp(folder));
    REQUIRE(setenv("TEST_FOLDER", folder, 1) == 0);
    Child job(run_ranks(2, {"dump"}));
    std::string line;
    REQUIRE(job.line(&line));
    CAPTURE(line);
    CHECK(line.find("rank 0: STRETTO_PEER_LOST rank 1 lost: its process ") == 0);
    CHECK(job.wait() == 128 + SIGABRT);
    struct stat core;
    int dumps = 0;
    for (auto &entry : std::filesystem::directory_iterator(folder)) {  // none where the system's setting sends it elsewhere
        REQUIRE(stat(entry.path().c_str(), &core) == 0);
        CHECK(int64_t(core.st_blocks) * 512 < int64_t(1) << 28);
        CHECK(core.st_size < int64_t(1) << 30);
        dumps++;
    }
    MESSAGE(dumps << " dump");
    std::filesystem::remove_all(folder);
}
#endif
