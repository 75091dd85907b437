// Ranks of an artefact that disagree, and values that a requirement refuses: every rank is told, none hangs.
#include "../golden.h"
#include "../runtime/child.h"

#include <algorithm>

using namespace stretto::test;

namespace {

// The lines of all ranks, in the order of ranks.
std::string told(std::vector<std::string> command, const std::string &trouble) {
    command.push_back(trouble);
    Child job(command);
    std::vector<std::string> lines = job.lines();
    CHECK(job.wait() == 0);
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (auto &line : lines) text += line + "\n";
    return text;
}

}  // namespace

TEST_CASE("under stretto_run and as threads, the same texts") {
    std::string text;
    for (std::string trouble : {"size", "scalar", "shape", "step", "beta"}) {
        std::string processes = told({STRETTO_RUN, "-n", "3", ADAM, "env"}, trouble);
        CHECK(told({ADAM, "threads", "3"}, trouble) == processes);
        CHECK(std::count(processes.begin(), processes.end(), '\n') == 3);
        text += "# " + trouble + "\n" + processes + "\n";
    }
    check_golden("artefact/disagree", text);
}
