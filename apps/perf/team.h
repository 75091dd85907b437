// All ranks of one side of a comparison, started together and asked together.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "link.h"

namespace perf {

class Team {
public:
    // Starts a command that starts `ranks` processes; the name of the socket that they connect to takes the place of the
    // word "SOCKET". Throws std::runtime_error when they do not come.
    Team(int ranks, std::vector<std::string> command);
    // Threads of this process.
    Team(int ranks, std::function<void(int rank, Link)> body);
    Team(const Team &) = delete;
    ~Team();

    // The answers of all ranks, in rank order. Throws with the first one's text where one failed, and when a rank is gone.
    std::vector<Reply> ask(const Request &);
    // Seconds of `steps` steps, of the slowest rank.
    double time(const std::string &schedule, int64_t count, int steps);

private:
    int ranks_;
    std::string what_;
    pid_t launcher_ = -1;
    std::vector<Link> links_;
    std::vector<std::thread> threads_;

    void start(std::vector<std::string> command);
    bool ended();
};

}  // namespace perf
