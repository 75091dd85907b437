#include "application.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "report.h"
#include "team.h"

namespace perf {
namespace {

constexpr double batch_seconds = 0.02, long_batch_seconds = 0.1;
constexpr int checked_steps = 3;

std::string own_path() {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) throw std::runtime_error("readlink /proc/self/exe");
    return std::string(path, size_t(n));
}

std::string beside(const std::string &program) {
    std::string path = own_path();
    return path.substr(0, path.rfind('/') + 1) + program;
}

bool is_peer(const std::string &schedule) { return schedule.compare(0, 4, "peer") == 0; }

// The word of a command that finds a program: where the build has it, else by PATH.
std::string command_word(const std::string &built, const char *name) {
    return !built.empty() && access(built.c_str(), X_OK) == 0 ? built : name;
}

class Benchmark {
    const Application &app_;
    Options o_;
    std::optional<Team> own_, peer_;
    std::vector<Row> rows_;

    void start_own() {
        std::string n = std::to_string(o_.ranks);
        if (o_.transport == "threads") {
            auto world = std::make_shared<std::vector<stretto::Communicator>>(stretto::threads(o_.ranks));
            own_.emplace(o_.ranks, [world, this](int rank, Link link) {
                auto r = app_.make(std::move((*world)[size_t(rank)]), o_.type);
                serve(*r, std::move(link));
            });
        } else if (o_.transport == "shm") {
            own_.emplace(o_.ranks,
                         std::vector<std::string>{command_word(app_.stretto_run, "stretto_run"), "-n", n,
                                                  own_path(), "--rank", "SOCKET", o_.type});
        } else {
            own_.emplace(o_.ranks, mpi_command(app_.mpi_program));
        }
    }

    std::vector<std::string> mpi_command(const std::string &program) const {
        return {command_word(app_.mpiexec, "mpiexec"),
                "-n",
                std::to_string(o_.ranks),
                beside(program),
                "SOCKET",
                o_.type};
    }

    Team &team_of(const std::string &schedule) { return is_peer(schedule) ? *peer_ : *own_; }

    void allocate(Team &team) {
        Request request;
        request.verb = Verb::Allocate;
        request.count = o_.end / element_bytes(o_.type);
        team.ask(request);
    }

    Row start(const std::string &schedule, int64_t size) {
        Row row;
        row.schedule = schedule;
        row.size = size;
        row.count = size / element_bytes(o_.type);
        row.bytes_moved = app_.bytes_moved(row.count, o_.type, o_.ranks);
        Request request;
        request.verb = Verb::Start;
        request.count = row.count;
        request.steps = o_.check ? checked_steps : 0;
        strncpy(request.schedule, schedule.c_str(), sizeof request.schedule - 1);
        if (o_.check) row.wrong = 0;
        for (const Reply &reply : team_of(schedule).ask(request)) {
            if (o_.check) row.wrong += reply.wrong;
            row.sent = std::max(row.sent, reply.bytes_sent);
            row.loaded = std::max(row.loaded, reply.bytes_loaded);
            row.stored = std::max(row.stored, reply.bytes_stored);
        }
        return row;
    }

    int steps_of_a_batch(const Row &row) {
        Team &team = team_of(row.schedule);
        if (o_.warm_up) team.time(row.schedule, row.count, o_.warm_up);
        double step = 0;
        for (int steps = 1;; steps *= 4) {
            double t = team.time(row.schedule, row.count, steps);
            step = t / steps;
            if (t > batch_seconds / 4 || steps > 100000) break;
        }
        int enough = int(std::ceil(1.1 * batch_seconds / step)),
            most = std::max(2, int(long_batch_seconds / step));
        return std::max(enough, std::min(o_.steps, most));
    }

    void measure(int64_t size) {
        size_t first = rows_.size();
        std::vector<int> steps;
        for (auto &schedule : o_.schedules) {
            rows_.push_back(start(schedule, size));
            steps.push_back(steps_of_a_batch(rows_.back()));
        }
        // In turn, so that what disturbs the machine for a while disturbs all of them; each round begins with another one.
        size_t kinds = o_.schedules.size();
        for (int round = 0; round < o_.rounds; round++) {
            for (size_t i = 0; i < kinds; i++) {
                size_t k = (i + size_t(round)) % kinds;
                Row &row = rows_[first + k];
                row.seconds.push_back(team_of(row.schedule).time(row.schedule, row.count, steps[k]) /
                                      steps[k]);
            }
        }
        for (size_t k = 0; k < kinds; k++) print_row(rows_[first + k], o_);
    }

public:
    Benchmark(const Application &app, const Options &o) : app_(app), o_(o) {
        if (app_.peer_program.empty()) {
            auto end = std::remove_if(o_.schedules.begin(), o_.schedules.end(), is_peer);
            if (end != o_.schedules.end())
                printf("# the peer is off: MPI was not found when this was built\n");
            o_.schedules.erase(end, o_.schedules.end());
        }
        if (o_.schedules.empty()) throw std::runtime_error("nothing is left to measure");
    }

    int run() {
        bool peers = std::any_of(o_.schedules.begin(), o_.schedules.end(), is_peer);
        if (size_t(std::count_if(o_.schedules.begin(), o_.schedules.end(), is_peer)) < o_.schedules.size())
            start_own();
        if (peers) peer_.emplace(o_.ranks, mpi_command(app_.peer_program));
        if (own_) allocate(*own_);
        if (peer_) allocate(*peer_);
        print_header(app_.choices.description, o_);
        for (int64_t size : o_.sizes()) measure(size);
        print_ratios(rows_, o_);
        if (!o_.json.empty()) write_json(rows_, app_.choices.name, o_);
        int64_t wrong = 0;
        for (auto &row : rows_) wrong += std::max<int64_t>(row.wrong, 0);
        if (wrong) printf("# %lld elements are wrong\n", static_cast<long long>(wrong));
        return wrong ? 1 : 0;
    }
};

}  // namespace

int64_t element_bytes(const std::string &type) { return type == "float" ? 4 : 2; }

int main_of(const Application &app, int argc, char **argv) {
    try {
        if (argc == 4 && !strcmp(argv[1], "--rank")) {
            auto rank = app.make(stretto::Communicator::from_env(), argv[3]);
            serve(*rank, Link(std::string(argv[2])));
            return 0;
        }
        Application offered = app;
        offered.choices.transports = {"threads", "shm"};
        if (!app.mpi_program.empty()) offered.choices.transports.push_back("mpi");
        return Benchmark(offered, parse_options(offered.choices, argc, argv)).run();
    } catch (const std::exception &e) {
        fprintf(stderr, "%s: %s\n", app.choices.name.c_str(), e.what());
        return 1;
    }
}

}  // namespace perf
