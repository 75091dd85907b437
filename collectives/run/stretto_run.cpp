// stretto_run -n N program arguments...: starts N ranks of a program on this host and waits for them.
//
// The ranks meet at an abstract unix socket whose name comes from a random number that they find in their environment;
// their output is not touched. When a rank fails, the others have five seconds to notice and say so themselves.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collectives/base/clock.h"
#include "collectives/base/fd.h"

using stretto::runtime::Fd;
using stretto::runtime::seconds_now;

namespace {

constexpr int most_ranks = 1024;
constexpr double grace = 5,
                 last_grace = 1;  // seconds after the first failure; between SIGTERM and SIGKILL
constexpr int cannot_start = 127, bad_usage = 2;

const char usage[] =
    "usage: stretto_run -n RANKS [--] PROGRAM [ARGUMENTS...]\n"
    "\n"
    "Starts RANKS processes of PROGRAM on this host, ranks 0 to RANKS-1 of one job; in each,\n"
    "stretto_comm_from_env() makes the communicator.\n"
    "\n"
    "  -n RANKS     how many, 1 to 1024\n"
    "  -h, --help   this text\n"
    "\n"
    "Exit status: 0 if all ranks succeed, else that of the first rank that failed (128 + number "
    "for\n"
    "a signal). After a failure the other ranks have 5 seconds to end, then they are ended.\n"
    "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on, once; stopped and continued, the ranks are too.\n"
    "A rank is a process group: what it has started ends with it, also when stretto_run is killed.\n"
    "Standard input is rank 0's, unless it is a terminal.\n";

struct Options {
    int ranks = 0;
    char **program = nullptr;
};

[[noreturn]] void refuse(const std::string &why) {
    fprintf(stderr, "stretto_run: %s\n\n%s", why.c_str(), usage);
    exit(bad_usage);
}

int parse_ranks(const std::string &text) {
    char *end = nullptr;
    long n = strtol(text.c_str(), &end, 10);
    if (text.empty() || *end || n < 1 || n > most_ranks) {
        refuse("-n " + text + ": a number of ranks from 1 to " + std::to_string(most_ranks) + " is needed");
    }
    return int(n);
}

Options parse(int argc, char **argv) {
    Options o;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        std::string a = argv[i];
        if (a == "--") {
            i++;
            break;
        }
        if (a == "-h" || a == "--help") {
            fputs(usage, stdout);
            exit(0);
        }
        if (a == "-n" || a == "-np") {
            if (++i == argc) refuse(a + " needs a number of ranks");
            o.ranks = parse_ranks(argv[i]);
        } else if (a.compare(0, 2, "-n") == 0 && a.size() > 2 && a[2] >= '0' && a[2] <= '9') {
            o.ranks = parse_ranks(a.substr(2));
        } else {
            refuse("unknown option " + a + "; the options are -n and --help");
        }
    }
    if (!o.ranks) refuse("how many ranks? Say -n RANKS");
    if (i == argc) refuse("which program?");
    o.program = argv + i;
    return o;
}

std::string random_job() {
    uint64_t words[2];
    if (getrandom(words, sizeof words, 0) != ssize_t(sizeof words)) {
        perror("stretto_run: getrandom");
        exit(cannot_start);
    }
    char text[40];
    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    return text;
}

class Job {
public:
    explicit Job(const Options &options) : ranks_(options.ranks), program_(options.program) {}

    int run() {
        // Signals are waited for, not handled: nothing then happens between a look at the children and the wait.
        sigemptyset(&watched_);
        for (int s : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) sigaddset(&watched_, s);
        sigprocmask(SIG_BLOCK, &watched_, &before_);
        child_signal_ = signal(SIGCHLD, SIG_DFL);  // ignored, children would end unseen
        setenv("STRETTO_JOB", random_job().c_str(), 1);
        setenv("STRETTO_RANKS", std::to_string(ranks_).c_str(), 1);
        for (int r = 0; r < ranks_; r++) {
            if (!start(r)) {
                end_all(SIGKILL);
                while (alive_) reap(true);
                return cannot_start;
            }
        }
        start_guard();
        while (alive_) {
            wait_for_event();
            reap(false);
            end_if_late();
        }
        tell_guard(all_ended);
        return status_;
    }

private:
    static constexpr int all_ended = -1;

    bool start(int rank) {
        setenv("STRETTO_RANK", std::to_string(rank).c_str(), 1);
        pid_t launcher = getpid(), pid = fork();
        if (pid < 0) {
            perror("stretto_run: fork");
            return false;
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != launcher) _exit(cannot_start);  // it died before the line above
            setpgid(0, 0);
            if (rank > 0 || isatty(0)) no_input();  // a group in the background would be stopped as it reads the terminal
            signal(SIGCHLD, child_signal_);
            sigprocmask(SIG_SETMASK, &before_, nullptr);
            execvp(program_[0], program_);
            fprintf(stderr, "stretto_run: cannot start %s: %s\n", program_[0], strerror(errno));
            _exit(cannot_start);
        }
        setpgid(pid, pid);  // here too: it may get a signal before it has done so itself
        children_.push_back(pid);
        alive_++;
        return true;
    }

    static void no_input() {
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (nothing >= 0) dup2(nothing, 0);
    }

    // A process of its own session that outlives the launcher, and then ends what the ranks have started. It is told which
    // ranks have ended, since others may have their numbers by then.
    void start_guard() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return;
        guard_ = Fd(ends[1]);
        Fd told(ends[0]);
        signal(SIGPIPE, SIG_IGN);  // should the guard be gone
        if (fork() != 0) return;
        guard_ = Fd();
        setsid();
        no_input();
        for (int fd : {1, 2}) dup2(0, fd);  // whoever reads the ranks' output does not wait for this
        int rank;
        while (read(told.get(), &rank, sizeof rank) == sizeof rank) {
            if (rank == all_ended) _exit(0);
            children_[size_t(rank)] = 0;
        }
        end_all(SIGKILL);
        _exit(0);
    }
    void tell_guard(int rank) {
        if (guard_.valid() && write(guard_.get(), &rank, sizeof rank) != sizeof rank) guard_ = Fd();
    }

    void wait_for_event() {
        double left = deadline_ ? deadline_ - seconds_now() : 3600;
        if (left < 0) left = 0;
        timespec t{time_t(left), long((left - double(time_t(left))) * 1e9)};
        int signal = sigtimedwait(&watched_, nullptr, &t);
        if (signal == SIGTSTP) {
            end_all(SIGSTOP);
            raise(SIGSTOP);  // returns when the launcher is continued
            end_all(SIGCONT);
        } else if (signal > 0 && signal != SIGCHLD) {
            end_all(signal);
            if (!deadline_) deadline_ = seconds_now() + grace;
        }
    }

    void reap(bool block) {
        for (;;) {
            // Its number is not given to another process before it is reaped: what it leaves behind is ended first.
            siginfo_t ended{};
            if (waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT | (block ? 0 : WNOHANG)) != 0 || !ended.si_pid) return;
            const pid_t pid = ended.si_pid;
            auto child = std::find(children_.begin(), children_.end(), pid);
            if (child != children_.end()) kill(-pid, SIGKILL);
            int state;
            waitpid(pid, &state, 0);
            if (child == children_.end()) continue;
            *child = 0;
            tell_guard(int(child - children_.begin()));
            alive_--;
            note(WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state));
        }
    }

    void note(int status) {
        if (status == 0) return;
        if (status_ == 0) status_ = status;
        if (!deadline_) deadline_ = seconds_now() + grace;
    }

    void end_if_late() {
        if (!alive_ || !deadline_ || seconds_now() < deadline_) return;
        end_all(terminated_ ? SIGKILL : SIGTERM);
        if (!terminated_) end_all(SIGCONT);  // a stopped process sees no SIGTERM
        terminated_ = true;
        deadline_ = seconds_now() + last_grace;
    }

    void end_all(int signal) {
        for (pid_t pid : children_) {
            if (pid) kill(-pid, signal);
        }
    }

    const int ranks_;
    char **const program_;
    std::vector<pid_t> children_;  // 0: has ended
    int alive_ = 0, status_ = 0;
    double deadline_ = 0;  // 0: all is well
    bool terminated_ = false;
    sigset_t watched_, before_;
    void (*child_signal_)(int) = SIG_DFL;
    Fd guard_;
};

}  // namespace

int main(int argc, char **argv) { return Job(parse(argc, argv)).run(); }
