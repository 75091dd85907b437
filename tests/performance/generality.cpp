// Fusion is no special case of Adam: optimizers made of random elementwise chains, with several states, become one sweep
// that takes little longer than the bytes it must move, at the rate of a streaming triad that is timed beside it.
#include <stretto/stretto.h>
#include "tests/performance/bound.h"
#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"
#include "tests/random_optimizer.h"

#include "apps/perf/values.h"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr int ranks_here = 2, rounds = 7;
constexpr int64_t n_large = 1 << 24;

#if defined(__x86_64__)
// to = a + 3 b, past the cache. Multiples of 16 elements, aligned.
__attribute__((target("avx512f"))) void triad_512(float *to, const float *a, const float *b, int64_t count) {
    __m512 three = _mm512_set1_ps(3);
    for (int64_t i = 0; i < count; i += 16)
        _mm512_stream_ps(to + i,
                         _mm512_add_ps(_mm512_load_ps(a + i), _mm512_mul_ps(three, _mm512_load_ps(b + i))));
    _mm_sfence();
}
void triad(float *to, const float *a, const float *b, int64_t count) {
    if (__builtin_cpu_supports("avx512f")) return triad_512(to, a, b, count);
    for (int64_t i = 0; i < count; i += 4)
        _mm_stream_ps(to + i, _mm_add_ps(_mm_load_ps(a + i), _mm_mul_ps(_mm_set1_ps(3), _mm_load_ps(b + i))));
    _mm_sfence();
}
#else
void triad(float *to, const float *a, const float *b, int64_t count) {
    for (int64_t i = 0; i < count; i++) to[i] = a[i] + 3 * b[i];
}
#endif

// The time of a step over that of its bytes at the rate of the triad.
Figure measure(const RandomOptimizer &o, const Compiled &f) {
    // As many bytes in the triad's arrays as in the optimizer's: the last-level cache may be large.
    const size_t states = o.states.size();
    const int64_t triad_count = n_large * (2 * ranks_here + int64_t(states)) / (3 * ranks_here) / 16 * 16;
    Spinning barrier(ranks_here);
    Interleaved times(2, rounds, ranks_here);
    run(threads(ranks_here), [&](Communicator &c) {
        const int r = c.rank();
        pin_to_core(r);
        auto [begin, end] = c.slice(n_large);
        float *g = c.allocate<float>(n_large), *p = c.allocate<float>(n_large);
        std::vector<float *> state(states), t(3);
        for (auto &x : state) x = c.allocate<float>(end - begin);
        for (auto &x : t) x = c.allocate<float>(triad_count);
        for (int64_t i = 0; i < n_large; i++) p[i] = perf::value<perf::Element::Float>(7, i);
        for (auto &x : state) perf::fill<perf::Element::Float>(x, 8, end - begin);
        for (auto &x : t) perf::fill<perf::Element::Float>(x, 9, triad_count);
        std::vector<View> views{View(g, {n_large}), View(p, {n_large})};
        for (auto &x : state)
            views.emplace_back(x, std::vector<int64_t>{end - begin}, std::vector<int64_t>{begin});
        std::vector<void *> argv;
        for (auto &view : views) argv.push_back(view.get());
        times.run(
            r, [&] { barrier.wait(r); },
            [&](size_t k) {
                if (k == 1) perf::fill<perf::Element::Float>(g, r, n_large);
                barrier.wait(r);
            },
            {[&] { triad(t[0], t[1], t[2], triad_count); },
             [&] { check_status(f.execute(c, argv.data())); }});
    });
    const double triad_bytes = 12.0 * double(triad_count) * ranks_here;
    char text[64];
    snprintf(text, sizeof text, "%.2f ms; the triad %.1f GB/s", times.median_time(1) * 1e3,
             triad_bytes / times.median_time(0) / 1e9);
    const double bytes = o.bytes(n_large, ranks_here);
    return {times.median_of([&](const std::vector<double> &t) { return t[1] / (bytes / (triad_bytes / t[0])); }), text};
}

}  // namespace

int main() {
    Bounds bounds;
    if (cores() < ranks_here) bounds.not_measured("random optimizers", "two ranks need two cores");
    else
        for (auto [seed, states, operations] : random_optimizers) {
            RandomOptimizer o(seed, states, operations);
            Compiled f = compile(o.program, o.fused());
            bounds.at_most("random optimizer " + std::to_string(seed) + ", 2 threads, 2^24 elements, of its bytes' time", 1.25,
                           [&] { return measure(o, f); });
        }
    return bounds.status();
}
