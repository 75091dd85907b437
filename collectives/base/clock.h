// Time for deadlines.
#pragma once
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

}  // namespace stretto::runtime
