// SIGSTOP of a rank that is storing into others' memory: they end within the deadline, and when it
// is woken and goes on storing, it hits nothing that was given to somebody else meanwhile.
#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <regex>

#include "child.h"

using namespace stretto::test;

namespace {

void check_one(Child &job) {
    std::string line;
    pid_t stopped = 0;
    int reports = 0, ready = 0;
    while (ready < 2) {
        REQUIRE(job.line(&line));
        CAPTURE(line);
        int rank = -1, pid = 0;
        if (sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2) {
            if (rank == 1) stopped = pid;
        } else if (line.find(": ready") != std::string::npos) {
            ready++;
        } else {
            reports++;
            CHECK(line.find("STRETTO_PEER_STUCK rank 1 has not arrived within 2 s "
                            "(STRETTO_TIMEOUT); rank ") != std::string::npos);
            CHECK(line.find(
                      "waits in call 5 (sweep), barrier 1; rank 1 is stopped inside the call") !=
                  std::string::npos);
        }
    }
    CHECK(reports == 2);
    REQUIRE(stopped > 0);
    REQUIRE(kill(stopped, SIGCONT) == 0);
    int woken = 0, clean = 0;
    for (int i = 0; i < 3; i++) {
        REQUIRE(job.line(&line));
        CAPTURE(line);
        bool late = line.find("late stores: seen, other memory: clean, kept: no longer") !=
                    std::string::npos;
        bool up =
            line.find("rank 1: woken STRETTO_TIMEOUT rank 1 has not arrived") != std::string::npos;
        CHECK((late || up));
        clean += late;
        woken += up;
    }
    CHECK(woken == 1);
    CHECK(clean == 2);
    CHECK(job.wait() == 0);
}

}  // namespace

TEST_CASE("stopped: twenty times") {
    for (int batch = 0; batch < 5; batch++) {  // they mostly sleep
        std::vector<std::unique_ptr<Child>> jobs;
        for (int i = 0; i < 4; i++) {
            jobs.push_back(std::make_unique<Child>(run_ranks(3, {"stop"}),
                                                   Environment{{"STRETTO_TIMEOUT", "2"}}));
        }
        for (auto &job : jobs) check_one(*job);
    }
}

TEST_CASE("D7: a job that is suspended for longer than the deadline goes on") {
    Child job(run_ranks(2, {"loop"}), {{"STRETTO_TIMEOUT", "2"}});
    std::string line;
    pid_t pids[2] = {};
    for (int r = 0; r < 2; r++) {
        REQUIRE(job.line(&line));
        int rank = 0, pid = 0;
        REQUIRE(sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2);
        pids[rank] = pid;
    }
    for (int r : {1, 0}) {  // rank 0 waits by then
        REQUIRE(kill(pids[r], SIGSTOP) == 0);
        stretto::runtime::sleep_microseconds(50'000);
    }
    stretto::runtime::sleep_microseconds(4'000'000);
    for (int r : {0, 1}) {
        REQUIRE(kill(pids[r], SIGCONT) == 0);
        stretto::runtime::sleep_microseconds(50'000);
    }
    CHECK_FALSE(job.line(&line, 0.5));
    REQUIRE(kill(pids[1], SIGKILL) == 0);
    REQUIRE(job.line(&line));
    CAPTURE(line);
    CHECK(line.find("STRETTO_PEER_LOST rank 1 lost: its process") != std::string::npos);
}

TEST_CASE("stopped: in a loop of barriers; named with operation and number; told when woken") {
    Child job(run_ranks(3, {"loop"}), {{"STRETTO_TIMEOUT", "2"}});
    std::string line;
    pid_t victim = 0;
    for (int r = 0; r < 3; r++) {
        REQUIRE(job.line(&line));
        int rank = 0, pid = 0;
        REQUIRE(sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2);
        if (rank == 1) victim = pid;
    }
    stretto::runtime::sleep_microseconds(20'000);
    REQUIRE(kill(victim, SIGSTOP) == 0);
    std::regex expected(
        "rank [02]: at [0-9.]+ STRETTO_(TIMEOUT|PEER_STUCK) rank 1 has not arrived within "
        "2 s \\(STRETTO_TIMEOUT\\); rank [02] waits in call [0-9]+ \\(barrier\\).*");
    for (int r = 0; r < 2; r++) {
        REQUIRE(job.line(&line));
        CAPTURE(line);
        CHECK(std::regex_match(line, expected));
    }
    REQUIRE(kill(victim, SIGCONT) == 0);
    REQUIRE(job.line(&line));
    CHECK(line.find("STRETTO_TIMEOUT rank 1 has not arrived within 2 s") != std::string::npos);
    CHECK(job.wait() == 0);
}
