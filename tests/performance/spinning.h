// A barrier as one writes it by hand, and cores for ranks.
#pragma once
#include <sched.h>

#include <atomic>
#include <memory>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stretto::test {

class Spinning {
    struct alignas(128) Line {
        std::atomic<uint32_t> epoch{0};
        uint32_t own = 0;
    };
    int ranks_;
    std::unique_ptr<Line[]> lines_;

public:
    explicit Spinning(int ranks) : ranks_(ranks), lines_(new Line[size_t(ranks)]) {}
    void wait(int rank) {
        uint32_t epoch = ++lines_[rank].own;
        lines_[rank].epoch.store(epoch, std::memory_order_release);
        for (int q = 0; q < ranks_; q++) {
            for (int spins = 0; int32_t(lines_[q].epoch.load(std::memory_order_acquire) - epoch) < 0;) {
                if (++spins > 4096) sched_yield();
#if defined(__x86_64__)
                else _mm_pause();
#endif
            }
        }
    }
};

inline cpu_set_t allowed_cores() {
    static const cpu_set_t set = [] {
        cpu_set_t s;
        CPU_ZERO(&s);
        sched_getaffinity(0, sizeof s, &s);
        return s;
    }();
    return set;
}

inline int cores() {
    cpu_set_t set = allowed_cores();
    return CPU_COUNT(&set);
}

// The calling thread to the k-th core that the process had at first, wrapping around.
inline void pin_to_core(int k) {
    cpu_set_t all = allowed_cores(), one;
    CPU_ZERO(&one);
    k %= CPU_COUNT(&all);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET(core, &all) || k--) continue;
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        return;
    }
}

}  // namespace stretto::test
