// stretto_run: exit status, the grace after a failure, signals passed on, ranks that die with it,
// usage.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "child.h"

using namespace stretto::test;
using stretto::runtime::seconds_now;

namespace {

std::vector<pid_t> processes_of(Child &job, int ranks) {
    std::vector<pid_t> pids;
    std::string line;
    for (int r = 0; r < ranks; r++) {
        REQUIRE(job.line(&line));
        int rank = 0, pid = 0;
        REQUIRE(sscanf(line.c_str(), "rank %d: process %d", &rank, &pid) == 2);
        pids.push_back(pid);
    }
    return pids;
}

bool all_gone(const std::vector<pid_t> &pids) {
    for (double deadline = seconds_now() + Child::hung; seconds_now() < deadline;) {
        bool any = false;
        for (pid_t pid : pids) any = any || kill(pid, 0) == 0;
        if (!any) return true;
        stretto::runtime::sleep_microseconds(5000);
    }
    return false;
}

}  // namespace

TEST_CASE("launcher: killed, its ranks are gone (ompi#8672)") {
    Child job(run_ranks(4, {"loop"}));
    std::vector<pid_t> pids = processes_of(job, 4);
    kill(job.pid(), SIGKILL);
    CHECK(job.wait() == 128 + SIGKILL);
    CHECK(all_gone(pids));
}

TEST_CASE("launcher: SIGTERM and SIGINT are passed on") {
    for (int signal : {SIGTERM, SIGINT}) {
        Child job(run_ranks(2, {"loop"}));
        std::vector<pid_t> pids = processes_of(job, 2);
        kill(job.pid(), signal);
        CHECK(job.wait() == 128 + signal);
        CHECK(all_gone(pids));
    }
}

TEST_CASE("launcher: what a rank has started ends with it, however the job ends") {
    // The shell is the rank; the program below it is what is left behind.
    const std::string below = std::string(RANK_PROGRAM) + " loop; true";
    for (int signal : {SIGKILL, SIGTERM}) {
        Child job({STRETTO_RUN, "-n", "2", "sh", "-c", below});
        std::vector<pid_t> pids = processes_of(job, 2);
        kill(job.pid(), signal);
        CHECK(job.wait() == 128 + signal);
        CHECK(all_gone(pids));
    }
    Child job({STRETTO_RUN, "-n", "1", "sh", "-c", "sleep 1000 & echo $!"});
    std::string line;
    REQUIRE(job.line(&line));
    CHECK(job.wait() == 0);
    CHECK(all_gone({atoi(line.c_str())}));
}

TEST_CASE("launcher: started with SIGCHLD ignored, it ends with its ranks") {
    signal(SIGCHLD, SIG_IGN);
    Child job(run_ranks(3, {"hello"}));
    signal(SIGCHLD, SIG_DFL);
    CHECK(job.lines().size() == 3);
    CHECK(job.wait() == 0);
}

TEST_CASE("launcher: standard input is rank 0's") {
    Child job({"sh", "-c", "echo text | " STRETTO_RUN " -n 3 sh -c 'echo $STRETTO_RANK $(cat)' | sort"});
    CHECK(job.lines() == std::vector<std::string>{"0 text", "1", "2"});
}

TEST_CASE("launcher: after a failure the others have five seconds, then they are ended") {
    Child job(run_ranks(3, {"fail", "17"}));
    double begin = seconds_now();
    CHECK(job.wait() == 17);
    CHECK(seconds_now() - begin > 4.5);
}

TEST_CASE("launcher: a program that cannot be started") {
    Child job({STRETTO_RUN, "-n", "2", "./no-such-program"});
    std::vector<std::string> lines = job.lines();
    CHECK(lines ==
          std::vector<std::string>(
              2, "stretto_run: cannot start ./no-such-program: No such file or directory"));
    CHECK(job.wait() == 127);
}

TEST_CASE("launcher: usage") {
    Child help({STRETTO_RUN, "--help"});
    std::vector<std::string> text = help.lines();
    REQUIRE(!text.empty());
    CHECK(text[0] == "usage: stretto_run -n RANKS [--] PROGRAM [ARGUMENTS...]");
    CHECK(help.wait() == 0);

    auto first_line = [](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), STRETTO_RUN);
        Child job(arguments);
        std::vector<std::string> lines = job.lines();
        CHECK(job.wait() == 2);
        return lines.empty() ? "" : lines[0];
    };
    CHECK(first_line({"-n", "0", "true"}) ==
          "stretto_run: -n 0: a number of ranks from 1 to 1024 is needed");
    CHECK(first_line({"-n", "two", "true"}) ==
          "stretto_run: -n two: a number of ranks from 1 to 1024 is needed");
    CHECK(first_line({"-n"}) == "stretto_run: -n needs a number of ranks");
    CHECK(first_line({"true"}) == "stretto_run: how many ranks? Say -n RANKS");
    CHECK(first_line({"-n", "2"}) == "stretto_run: which program?");
    CHECK(first_line({"--ranks", "2"}) ==
          "stretto_run: unknown option --ranks; the options are -n and --help");
}
