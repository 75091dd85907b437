// mpirun and mpiexec as launchers of ranks that share memory.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "child.h"
#include "tests/skip.h"

using namespace stretto::test;

namespace {

bool found(const std::string &program) {
    Child which({"sh", "-c", "command -v " + program});
    return which.wait() == 0;
}

void check_launcher(const std::string &launcher) {
    for (int ranks : {1, 2, 4}) {
        for (const char *mode : {"hello", "exchange", "two_communicators"}) {
            if (ranks == 1 && std::string(mode) == "exchange") continue;  // one rank has no window
            CAPTURE(launcher);
            CAPTURE(ranks);
            CAPTURE(mode);
            Child job({launcher, "-n", std::to_string(ranks), RANK_PROGRAM, mode});
            std::vector<std::string> lines = job.lines(), expected;
            std::sort(lines.begin(), lines.end());
            for (int r = 0; r < ranks; r++) {
                expected.push_back("rank " + std::to_string(r) + ": " +
                                   (mode == std::string("hello")      ? "of " + std::to_string(ranks)
                                    : mode == std::string("exchange") ? "exchanged"
                                                                      : "both"));
            }
            CHECK(lines == expected);
            CHECK(job.wait() == 0);
        }
    }
}

}  // namespace

TEST_CASE("launchers: what is installed starts ranks that share memory") {
    int tried = 0;
    for (const char *launcher : {"mpirun.openmpi", "mpiexec.mpich"}) {
        if (!found(launcher)) {
            printf("%s is not installed\n", launcher);
            continue;
        }
        tried++;
        check_launcher(launcher);
        // Through a shell, as scripts do: the ranks are then no children of the launcher's daemon.
        Child job({launcher, "-n", "2", "sh", "-c", std::string(RANK_PROGRAM) + " hello; true"});
        CHECK(job.lines().size() == 2);
        CHECK(job.wait() == 0);
    }
    if (!tried) skip("runtime.launchers", "neither mpirun.openmpi nor mpiexec.mpich is installed");
}
