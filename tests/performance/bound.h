// A figure and its bound: a row of the table of `./run bench --bounds`. A program that measures is a main that returns
// Bounds::status(): 1 when a bound is missed.
#pragma once
#include <algorithm>
#include <cstdio>
#include <string>

namespace stretto::test {

// A bound that is missed is tried again: the machine may be doing something else.
constexpr int attempts = 10;

struct Figure {
    double value;
    std::string from;  // what it was made of
    Figure(double value, std::string from = "") : value(value), from(std::move(from)) {}
};

class Bounds {
    bool all_hold_ = true;

    template <class Measure, class Holds>
    void add(const std::string &name, const char *side, double bound, Measure &&measure, Holds &&holds) {
        Figure best = measure();
        for (int attempt = 1; attempt < attempts && !holds(best.value, bound); attempt++) {
            Figure again = measure();
            if (holds(again.value, best.value)) best = again;
        }
        const bool held = holds(best.value, bound);
        all_hold_ = all_hold_ && held;
        std::printf("%-68s | %8.2f | %s %5.2f | %-5s | %s\n", name.c_str(), best.value, side, bound, held ? "yes" : "NO",
                    best.from.c_str());
        std::fflush(stdout);
    }

public:
    // measure(): a Figure, or its value alone.
    template <class Measure>
    void at_most(const std::string &name, double bound, Measure &&measure) {
        add(name, "at most ", bound, measure, [](double value, double limit) { return value <= limit; });
    }
    template <class Measure>
    void at_least(const std::string &name, double bound, Measure &&measure) {
        add(name, "at least", bound, measure, [](double value, double limit) { return value >= limit; });
    }
    // What this machine cannot measure misses no bound.
    void not_measured(const std::string &name, const std::string &reason) {
        std::printf("%-68s | %8s | %14s | %-5s | not measured: %s\n", name.c_str(), "-", "-", "-", reason.c_str());
    }
    int status() const { return all_hold_ ? 0 : 1; }
};

}  // namespace stretto::test
