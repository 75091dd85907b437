// Trains a network on handwritten digits, data-parallel, with each schedule of the optimizer, and compares them: the weights
// must be the same, bit for bit. Ranks are threads, or the processes of stretto_run and mpirun.
#include <unistd.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include "training.h"

using digits::Outcome;

namespace {

constexpr double wanted_accuracy = 0.95;

struct Options {
    std::vector<int> ranks;
    std::string schedule, data = DIGITS_DATA;
    digits::Settings settings;
};

// One world's training.
struct Run {
    int ranks;
    std::vector<Outcome> outcomes;
    const Outcome *find(const std::string &schedule) const {
        for (auto &o : outcomes)
            if (o.schedule == schedule) return &o;
        return nullptr;
    }
};

std::string ranks_text(int n) {
    return std::to_string(n) + (n == 1 ? " rank" : " ranks");
}

std::function<void(int64_t)> progress_bar(int ranks, int64_t epochs) {
    if (!isatty(STDOUT_FILENO)) return nullptr;
    return [=](int64_t epoch) {
        constexpr int width = 40;
        std::string bar(width, '.');
        std::fill_n(bar.begin(), epoch * width / epochs, '#');
        std::printf("\r\033[K%s [%s] epoch %lld of %lld", ranks_text(ranks).c_str(), bar.c_str(),
                    static_cast<long long>(epoch + 1), static_cast<long long>(epochs));
        std::fflush(stdout);
    };
}

void clear_progress_bar() {
    if (isatty(STDOUT_FILENO)) std::printf("\r\033[K");
}

void print(const Run &run, const char *kind) {
    std::printf("%s (%s)\n", ranks_text(run.ranks).c_str(), kind);
    std::printf("  %-10s %9s %10s %10s %12s %12s  %s\n", "schedule", "accuracy", "step us", "update us", "moved KB", "state KB",
                "weights");
    for (auto &o : run.outcomes) {
        std::printf("  %-10s %7.2f %% %10.1f %10.1f %12.1f %12.1f  %016llx%s\n", o.schedule.c_str(), 100 * o.accuracy,
                    digits::median(o.step_us), digits::median(o.update_us), o.moved_bytes / 1000, double(o.state_bytes) / 1000,
                    static_cast<unsigned long long>(o.weights), o.ranks_agree ? "" : "  RANKS DIFFER");
    }
    std::printf("\n");
    std::fflush(stdout);
}

// The median of the quotients of two series of the same steps.
double ratio(const std::vector<double> &above, const std::vector<double> &below) {
    std::vector<double> v;
    for (size_t k = 0; k < above.size(); k++) v.push_back(above[k] / below[k]);
    return digits::median(v);
}

void print_ratios(const std::vector<Run> &runs) {
    std::printf("%-34s", "Ratios of times, medians");
    for (auto &run : runs) std::printf(" %8s", ranks_text(run.ranks).c_str());
    std::printf("\n");
    const Run &first = runs.front(), &alone = runs.back();
    const std::string base = first.outcomes[0].schedule;
    for (size_t k = 1; k < first.outcomes.size(); k++) {
        std::string other = first.outcomes[k].schedule;
        std::printf("%-34s", ("  update: " + base + " / " + other).c_str());
        for (auto &run : runs) std::printf(" %8.2f", ratio(run.find(base)->update_us, run.find(other)->update_us));
        std::printf("\n");
    }
    const std::string last = first.outcomes.back().schedule;
    std::printf("%-34s", ("  step, " + last + ": 1 rank / ranks").c_str());
    double one = digits::median(alone.find(last)->step_us);
    for (auto &run : runs) std::printf(" %8.2f", one / digits::median(run.find(last)->step_us));
    std::printf("\n");
}

// Prints what is wrong; true if nothing is.
bool judge(const Run &run) {
    bool good = true;
    auto wrong = [&](const Outcome &o, const char *what) {
        std::printf("%s, schedule %s: %s\n", ranks_text(run.ranks).c_str(), o.schedule.c_str(), what);
        good = false;
    };
    for (auto &o : run.outcomes) {
        if (!(o.accuracy >= wanted_accuracy)) wrong(o, "the accuracy is below 95 %");
        if (!o.ranks_agree) wrong(o, "the weights differ between ranks");
        if (o.weights != run.outcomes[0].weights) wrong(o, "the weights are not those of the first schedule");
    }
    return good;
}

Run train_threads(int ranks, const digits::Data &data, digits::Settings settings) {
    Run run{ranks, {}};
    settings.progress = progress_bar(ranks, settings.epochs);
    stretto::run(stretto::threads(ranks), [&](stretto::Communicator &c) {
        auto outcomes = digits::train(c, data, settings);
        if (c.rank() == 0) run.outcomes = std::move(outcomes);
    });
    clear_progress_bar();
    return run;
}

// Adds one rank alone, prints all, and returns the exit status.
int compare(std::vector<Run> runs, const digits::Data &data, const digits::Settings &settings) {
    if (runs.empty() || runs.back().ranks != 1) {
        runs.push_back(train_threads(1, data, settings));
        print(runs.back(), "alone");
    }
    print_ratios(runs);
    bool good = true;
    for (auto &run : runs) good = judge(run) && good;
    if (good) std::printf("\nThe weights of all schedules are the same, bit for bit.\n");
    return good ? 0 : 1;
}

void print_heading(const digits::Data &data, const digits::Settings &s) {
    std::printf(
        "digits: a network 64-%lld-%lld-10 with %lld parameters; %lld images to train on, %lld to test; %lld epochs in "
        "batches of %lld\n"
        "times: medians, of each step the slowest rank's; step: gradients and update; moved: by the update, a rank and "
        "step;\nstate: the optimizer's memory, a rank\n\n",
        static_cast<long long>(s.hidden1), static_cast<long long>(s.hidden2),
        static_cast<long long>(digits::parameter_count(s)), static_cast<long long>(data.training.count()),
        static_cast<long long>(data.test.count()), static_cast<long long>(s.epochs), static_cast<long long>(s.batch));
    std::fflush(stdout);
}

int run_threads(const Options &o, const digits::Data &data) {
    print_heading(data, o.settings);
    std::vector<Run> runs;
    for (int ranks : o.ranks.empty() ? std::vector<int>{2, 3, 4} : o.ranks) {
        runs.push_back(train_threads(ranks, data, o.settings));
        print(runs.back(), ranks == 1 ? "alone" : "threads");
    }
    return compare(std::move(runs), data, o.settings);
}

// Rank 0 judges and prints; its exit status is the launcher's.
int run_process(stretto::Communicator &world, const Options &o, const digits::Data &data) {
    if (o.ranks.size() > 1 || (o.ranks.size() == 1 && o.ranks[0] != world.ranks()))
        throw std::runtime_error("--ranks is for ranks that are threads; the launcher has started " +
                                 ranks_text(world.ranks()) + ".\nLegal: no --ranks, or --ranks " +
                                 std::to_string(world.ranks()));
    bool prints = world.rank() == 0;
    if (prints) print_heading(data, o.settings);
    digits::Settings settings = o.settings;
    if (prints) settings.progress = progress_bar(world.ranks(), settings.epochs);
    Run run{world.ranks(), digits::train(world, data, settings)};
    if (prints) clear_progress_bar();
    int status = 0;
    if (prints) {
        print(run, "processes");
        status = compare({run}, data, o.settings);
    }
    world.barrier();  // the others live until rank 0 has trained alone
    return status;
}

std::vector<digits::Optimizer> chosen(const std::string &schedule) {
    std::vector<digits::Optimizer> found;
    std::string legal;
    for (auto &o : digits::optimizers()) {
        if (schedule.empty() || schedule == o.name) found.push_back(o);
        legal += (legal.empty() ? "" : ", ") + std::string(o.name);
    }
    if (found.empty()) throw std::runtime_error("--schedule " + schedule + ": there is no such schedule.\nLegal: " + legal);
    return found;
}

}  // namespace

int main(int argc, char **argv) {
    CLI::App app{"Trains a network on handwritten digits with every schedule of the optimizer, and compares them."};
    Options o;
    app.add_option("--ranks", o.ranks, "numbers of ranks, in turn (default: 2,3,4); then one rank alone")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    app.add_option("--epochs", o.settings.epochs, "times that every image is seen")
        ->capture_default_str()
        ->check(CLI::Range(1, 10000));
    app.add_option("--batch", o.settings.batch, "images a step, of all ranks together")
        ->capture_default_str()
        ->check(CLI::Range(1, 1437));
    app.add_option("--seed", o.settings.seed, "of weights, order and distortions")->capture_default_str();
    app.add_option("--schedule", o.schedule, "only this one: default, on_slices or fused");
    app.add_option("--data", o.data, "the file of images");
    CLI11_PARSE(app, argc, argv);
    try {
        o.settings.schedules = chosen(o.schedule);
        digits::Data data = digits::read_images(o.data);
        auto world = stretto::Communicator::from_env();
        return world.ranks() > 1 ? run_process(world, o, data) : run_threads(o, data);
    } catch (const std::exception &e) {
        std::fprintf(stderr, "digits: %s\n", e.what());
        return 1;
    }
}
