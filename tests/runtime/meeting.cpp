// What administrators, other users and odd peers do to ranks that meet, and to processes that have met.
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <memory>

#include "child.h"
#include "collectives/base/error.h"
#include "collectives/base/limits.h"
#include "collectives/comm/environment.h"
#include "collectives/comm/local_socket.h"
#include "collectives/comm/meeting.h"
#include "collectives/world/process.h"
#include "ranks.h"

using namespace stretto::test;
using namespace stretto::runtime;

namespace {

std::vector<std::string> below_limit(const std::string &limit, int ranks, const char *mode) {
    std::vector<std::string> command{"bash", "-c", limit + "; exec \"$@\"", "bash"};
    for (std::string &word : run_ranks(ranks, {mode})) command.push_back(word);
    return command;
}

bool all_have(const std::vector<std::string> &lines, size_t count, const std::string &text) {
    for (const std::string &line : lines) {
        CAPTURE(line);
        CHECK(line.find(text) != std::string::npos);
    }
    return lines.size() == count;
}

// As torchrun starts rank `rank`; and where they meet.
Environment torchrun(int rank, int ranks, const char *timeout) {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(ranks)},
            {"MASTER_PORT", std::to_string(getpid())},
            {"STRETTO_TIMEOUT", timeout}};
}
std::string meeting_place(const Environment &environment) {
    std::vector<std::unique_ptr<Variable>> set;
    for (auto &[name, value] : environment) set.push_back(std::make_unique<Variable>(name.c_str(), value.c_str()));
    Launch launch;
    REQUIRE(read_launch(&launch) == 0);
    return public_name(launch, 0);
}

Fd pidfd_of(pid_t pid) { return Fd(int(syscall(434, pid, 0))); }

}  // namespace

TEST_CASE("D3: who does not read is not waited for past the deadline") {
    const std::string name = "stretto-test-" + std::to_string(getpid());
    Fd listener, near;
    REQUIRE(listen_at(name, &listener) == 0);
    Deadline deadline(60);
    REQUIRE(connect_to(name, deadline, &near) == 0);
    MeetingMessage message;
    Deadline soon(0.3);
    int status = 0;
    for (int i = 0; !status && i < 100000; i++) status = send_message(near, &message, sizeof message, {}, soon);
    CHECK(status == STRETTO_TIMEOUT);
}

TEST_CASE("D3: a rank that says hello and reads nothing ends the meeting of 250") {
    constexpr int ranks = 250;
    const Environment environment = torchrun(0, ranks, "2");
    Child host({RANK_PROGRAM, "hello"}, environment);
    std::vector<Fd> sockets;
    Fd heap(memfd_create("heap", MFD_CLOEXEC)), self = pidfd_of(getpid());
    MoreDescriptors more;
    for (int r = 1; r < ranks; r++) {
        Deadline deadline(Child::hung);
        Fd socket;
        REQUIRE(connect_to(meeting_place(environment), deadline, &socket) == 0);
        MeetingMessage hello;
        hello.rank = r;
        hello.ranks = ranks;
        hello.pid = getpid();
        hello.stride = 16 << 20;
        REQUIRE(send_message(socket, &hello, sizeof hello, {heap.get(), self.get()}, deadline) == 0);
        sockets.push_back(std::move(socket));
    }
    std::string line;
    REQUIRE(host.line(&line));
    CHECK(line ==
          "no communicator: STRETTO_TIMEOUT torchrun: RANK=0, WORLD_SIZE=250: rank 1 did not answer while ranks were "
          "mapping each other's heaps");
    CHECK(host.wait() == 1);
}

TEST_CASE("D9: the limit on open files is named at once, by every rank") {
    Child all(below_limit("ulimit -n 16", 8, "hello"));
    CHECK(all_have(all.lines(), 8, "are allowed (ulimit -n)"));
    for (int rank : {0, 2}) {
        const std::string program =
            "[ $STRETTO_RANK = " + std::to_string(rank) + " ] && ulimit -n 16; exec " RANK_PROGRAM " hello";
        Child one({STRETTO_RUN, "-n", "4", "bash", "-c", program});
        CHECK(all_have(one.lines(), 4, "4 ranks need "));
    }
}

TEST_CASE("D9: the limit on files' sizes makes heaps smaller, or is named") {
    Child small(below_limit("ulimit -f 1000", 2, "hello"));
    CHECK(all_have(small.lines(), 2, "and files of 1024000 are allowed (ulimit -f)"));
    CHECK(small.wait() == 1);
    Child enough(below_limit("ulimit -f 100000", 2, "exchange"));
    CHECK(all_have(enough.lines(), 2, "exchanged"));
    CHECK(enough.wait() == 0);
}

TEST_CASE("D9: ranks whose application closes all descriptors live, and their end is seen") {
    Child job(run_ranks(3, {"close_all"}));
    std::vector<std::string> lines = job.lines();
    CHECK(std::count_if(lines.begin(), lines.end(), [](auto &l) { return l.find("alive") != std::string::npos; }) == 3);
    CHECK(std::count_if(lines.begin(), lines.end(), [](auto &l) {
              return l.find("STRETTO_PEER_LOST rank 0 lost: its process ") != std::string::npos;
          }) == 2);
    CHECK(lines.size() == 5);
}

TEST_CASE("D9: a rank that becomes another program is lost") {
    Child job(run_ranks(3, {"exec"}));
    CHECK(all_have(job.lines(), 2, "has started another program (exec)"));
}

TEST_CASE("D9: what becomes of a process, with and without its descriptor") {
    for (bool closed : {false, true}) {
        pid_t pid = fork();
        if (pid == 0) {
            for (;;) pause();
        }
        Fd handle = pidfd_of(pid);
        const int number = handle.get();
        Process process(std::move(handle), pid);
        CHECK(process.fate() == nullptr);
        if (closed) {  // the number is another file's, which can be read
            Fd other(open("/dev/zero", O_RDONLY | O_CLOEXEC));
            REQUIRE(dup2(other.get(), number) == number);
            for (int i = 0; i < 5; i++) {
                sleep_microseconds(110'000);
                CHECK(process.fate() == nullptr);
            }
        }
        kill(pid, SIGKILL);
        for (Deadline deadline(Child::hung); !process.fate() && !deadline.passed();) sleep_microseconds(1000);
        REQUIRE(process.fate());
        CHECK(std::string(process.fate()) == "has ended");
        waitpid(pid, nullptr, 0);
        if (closed) close(number);
    }
}

TEST_CASE("D10: another user who listens first at the name of a job does not keep it from starting") {
    if (geteuid() != 0) {
        printf("skipped here: only root can be another user\n");
        return;
    }
    const std::string name = meeting_place(torchrun(0, 2, "60"));
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    pid_t other = fork();
    if (other == 0) {
        std::vector<Fd> listeners(3);
        bool fine = setuid(65534) == 0;
        for (int i = 0; i < 3; i++) fine = fine && listen_at(name_of_try(name, i), &listeners[size_t(i)]) == 0;
        if (!fine || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    char byte;
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    Child one({RANK_PROGRAM, "hello"}, torchrun(1, 2, "60")), zero({RANK_PROGRAM, "hello"}, torchrun(0, 2, "60"));
    std::string line;
    CHECK(one.line(&line));
    CHECK(line == "rank 1: of 2");
    CHECK(zero.line(&line));
    CHECK(line == "rank 0: of 2");
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
}
