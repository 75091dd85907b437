#include "team.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "rank.h"

namespace perf {
namespace {

constexpr double start_seconds = 60, stop_seconds = 5;

}  // namespace

Team::Team(int ranks, std::vector<std::string> command) : ranks_(ranks) {
    for (auto &word : command) what_ += (what_.empty() ? "" : " ") + word;
    Listener listener(ranks);
    std::replace(command.begin(), command.end(), std::string("SOCKET"), listener.name());
    start(command);
    std::vector<std::optional<Link>> by_rank(static_cast<size_t>(ranks));
    int come = 0;
    try {
        for (double deadline = seconds_now() + start_seconds; come < ranks;) {
            int fd = listener.accept(100);
            if (fd < 0) {
                if (ended()) throw std::runtime_error("it ended before its ranks had come");
                if (seconds_now() > deadline) throw std::runtime_error("its ranks do not come");
                continue;
            }
            Link link(fd);
            Reply hello;
            if (!link.receive(&hello)) continue;
            if (hello.ranks != ranks || hello.rank < 0 || hello.rank >= ranks ||
                by_rank[size_t(hello.rank)]) {
                throw std::runtime_error("rank " + std::to_string(hello.rank) + " of " +
                                         std::to_string(hello.ranks) + " has come; there should be " +
                                         std::to_string(ranks));
            }
            by_rank[size_t(hello.rank)].emplace(std::move(link));
            come++;
        }
    } catch (const std::exception &e) {
        if (launcher_ > 0) {
            kill(launcher_, SIGTERM);
            waitpid(launcher_, nullptr, 0);
        }
        throw std::runtime_error(what_ + ": " + e.what());
    }
    for (auto &link : by_rank) links_.push_back(std::move(*link));
}

Team::Team(int ranks, std::function<void(int rank, Link)> body) : ranks_(ranks), what_("threads") {
    std::vector<Link> theirs;
    for (int r = 0; r < ranks; r++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) throw std::runtime_error("socketpair");
        links_.emplace_back(ends[0]);
        theirs.emplace_back(ends[1]);
    }
    for (int r = 0; r < ranks; r++) {
        threads_.emplace_back(
            [body, r, link = std::move(theirs[size_t(r)])]() mutable { body(r, std::move(link)); });
    }
    for (auto &link : links_) {
        Reply hello;
        link.receive(&hello);
    }
}

Team::~Team() {
    for (auto &link : links_) {
        try {
            link.send(Request{});
        } catch (const std::exception &) {  // it is gone already
        }
    }
    links_.clear();
    for (auto &thread : threads_) thread.join();
    if (launcher_ <= 0) return;
    for (double deadline = seconds_now() + stop_seconds; !ended() && seconds_now() < deadline;) usleep(2000);
    if (ended()) return;
    kill(launcher_, SIGTERM);  // launchers end their ranks
    waitpid(launcher_, nullptr, 0);
}

void Team::start(std::vector<std::string> command) {
    std::vector<char *> argv;
    for (auto &word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    launcher_ = fork();
    if (launcher_ < 0) throw std::runtime_error("fork: " + std::string(strerror(errno)));
    if (launcher_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, 0);
    // Open MPI 4 and 5: root in containers, and more ranks than cores, left to the kernel to place.
    for (const char *name :
         {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
        setenv(name, "1", 0);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
    setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
    execvp(argv[0], argv.data());
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

bool Team::ended() {
    if (launcher_ <= 0) return true;
    if (waitpid(launcher_, nullptr, WNOHANG) != launcher_) return false;
    launcher_ = -1;
    return true;
}

std::vector<Reply> Team::ask(const Request &request) {
    for (auto &link : links_) link.send(request);
    std::vector<Reply> replies(links_.size());
    for (size_t r = 0; r < links_.size(); r++) {
        if (!links_[r].receive(&replies[r]))
            throw std::runtime_error(what_ + ": rank " + std::to_string(r) + " is gone");
        if (replies[r].failed)
            throw std::runtime_error(what_ + ": rank " + std::to_string(r) + ": " + replies[r].text);
    }
    return replies;
}

double Team::time(const std::string &schedule, int64_t count, int steps) {
    Request request;
    request.verb = Verb::Time;
    request.steps = steps;
    request.count = count;
    strncpy(request.schedule, schedule.c_str(), sizeof request.schedule - 1);
    double slowest = 0;
    for (const Reply &reply : ask(request)) slowest = std::max(slowest, reply.seconds);
    return slowest;
}

}  // namespace perf
