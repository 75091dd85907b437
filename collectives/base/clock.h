// Time for deadlines.
#pragma once
#include <algorithm>
#include <ctime>

namespace stretto::runtime {

inline double seconds_now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t;
    clock_gettime(clock, &t);
    return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// The same clock some milliseconds late, for the cost of a load.
inline double rough_seconds_now() { return seconds_now(CLOCK_MONOTONIC_COARSE); }

inline void sleep_microseconds(long us) {
    timespec t{us / 1000000, (us % 1000000) * 1000};
    nanosleep(&t, nullptr);
}

// The end of a wait, which its waiter looks at every now and then. Time in which this process did not run (it was stopped, or
// its cores were others') does not count: of what lies between two looks, a quarter of a second at most.
class Deadline {
public:
    static constexpr double look = 0.05;  // seconds: who sleeps longer without a look gets more time

    explicit Deadline(double seconds) : left_(seconds), step_(std::clamp(seconds / 4, look, 5 * look)) {}
    // Seconds; none once it has passed.
    double left() {
        const double now = seconds_now();
        left_ -= std::min(now - looked_, step_);
        looked_ = now;
        return left_;
    }
    bool passed() { return left() <= 0; }
    // For poll(), until the next look.
    int nap_milliseconds() { return int(std::clamp(left(), 0.0, look) * 1000) + 1; }

private:
    double left_;
    const double step_;
    double looked_ = seconds_now();
};

}  // namespace stretto::runtime
