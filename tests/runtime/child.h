// Starts programs of the tests and looks at what they print.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "collectives/base/clock.h"

namespace stretto::test {

using Environment = std::vector<std::pair<std::string, std::string>>;  // an empty value: unset

class Child {
public:
    static constexpr double hung = 100;  // seconds after which something does not come any more: no bound on its time

    // The program's output, error output included, is read through a pipe.
    explicit Child(std::vector<std::string> command, const Environment &environment = {}) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
        pid_ = fork();
        if (pid_ == 0) {
            dup2(ends[1], 1);
            dup2(ends[1], 2);
            for (auto &[name, value] : environment) {
                value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
            }
            std::vector<char *> argv;
            for (std::string &word : command) argv.push_back(word.data());
            argv.push_back(nullptr);
            execvp(argv[0], argv.data());
            _exit(127);
        }
        close(ends[1]);
        output_ = ends[0];
    }
    ~Child() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(output_);
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;

    pid_t pid() const { return pid_; }

    // The next line, without its end; false at the end of the output or after `seconds`.
    bool line(std::string *result, double seconds = hung) {
        double deadline = runtime::seconds_now() + seconds;
        for (;;) {
            size_t end = text_.find('\n');
            if (end != std::string::npos) {
                *result = text_.substr(0, end);
                text_.erase(0, end + 1);
                return true;
            }
            double left = deadline - runtime::seconds_now();
            pollfd p{output_, POLLIN, 0};
            if (left <= 0 || ::poll(&p, 1, int(left * 1000) + 1) < 0) return false;
            if (!p.revents) continue;
            char buffer[4096];
            ssize_t got = read(output_, buffer, sizeof buffer);
            if (got <= 0) return false;
            text_.append(buffer, size_t(got));
        }
    }

    std::vector<std::string> lines() {
        std::vector<std::string> all;
        for (std::string one; line(&one);) all.push_back(one);
        return all;
    }

    // Exit status, 128 + number for a signal; -1 when it does not end.
    int wait() {
        for (double deadline = runtime::seconds_now() + hung; runtime::seconds_now() < deadline;) {
            int state;
            if (waitpid(pid_, &state, WNOHANG) == pid_) {
                pid_ = -1;
                return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
            }
            runtime::sleep_microseconds(1000);
        }
        return -1;
    }

private:
    pid_t pid_ = -1;
    int output_ = -1;
    std::string text_;
};

// Entries of /dev/shm: nothing may be left there.
inline int files_in_shm() {
    int count = 0;
    DIR *dir = opendir("/dev/shm");
    if (!dir) return 0;
    while (readdir(dir)) count++;
    closedir(dir);
    return count;
}

// `ranks` ranks of rank_program in a mode, started by stretto_run.
inline std::vector<std::string> run_ranks(int ranks, std::vector<std::string> mode) {
    std::vector<std::string> command{STRETTO_RUN, "-n", std::to_string(ranks), RANK_PROGRAM};
    command.insert(command.end(), mode.begin(), mode.end());
    return command;
}

}  // namespace stretto::test
