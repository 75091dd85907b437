// The fused Adam step, through its public call, beside loops written by hand: two ranks that are threads, each with its
// slice, a barrier before and after; plain stores, and streamed ones to the other rank's parameters. Each rank rewrites its
// gradient before every step, outside the clock. The better of the loops is the measure.
#include <stretto/runtime.hpp>
#include "adam_fused.h"
#include "apps/optimizer_perf/adam_serial.h"
#include "apps/perf/rank.h"
#include "tests/performance/bound.h"
#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace stretto::test;
using optimizer_perf::Hyperparameters;
using optimizer_perf::StepScalars;

namespace {

constexpr int ranks = 2;

struct Arrays {
    float *g, *p, *m, *v;  // m and v: this rank's slice
};

#if defined(__x86_64__)
#define STRETTO_AVX512 __attribute__((target("avx512f,fma")))

// One vector of each, of which the lanes in `lanes` are wanted.
template <bool Streamed>
STRETTO_AVX512 inline void update16(const Arrays *a, int rank, int64_t i, int64_t slice, __mmask16 lanes,
                                    const StepScalars &k) {
    const __m512 half = _mm512_set1_ps(0.5f);
    const int64_t j = i - slice;
    __m512 g = _mm512_mul_ps(half, _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, a[0].g + i),
                                                 _mm512_maskz_loadu_ps(lanes, a[1].g + i)));
    __m512 m = _mm512_fmadd_ps(_mm512_set1_ps(k.b1), _mm512_maskz_loadu_ps(lanes, a[rank].m + j),
                               _mm512_mul_ps(_mm512_set1_ps(k.a1), g));
    __m512 v = _mm512_fmadd_ps(_mm512_set1_ps(k.b2), _mm512_maskz_loadu_ps(lanes, a[rank].v + j),
                               _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(k.a2), g), g));
    __m512 below = _mm512_fmadd_ps(_mm512_sqrt_ps(v), _mm512_set1_ps(k.c2), _mm512_set1_ps(k.eps));
    __m512 p = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, a[rank].p + i),
                             _mm512_div_ps(_mm512_mul_ps(_mm512_set1_ps(k.c1), m), below));
    _mm512_mask_storeu_ps(a[rank].m + j, lanes, m);
    _mm512_mask_storeu_ps(a[rank].v + j, lanes, v);
    _mm512_mask_storeu_ps(a[rank].p + i, lanes, p);
    if constexpr (Streamed) _mm512_stream_ps(a[1 - rank].p + i, p);
    else _mm512_mask_storeu_ps(a[1 - rank].p + i, lanes, p);
}

template <bool Streamed>
STRETTO_AVX512 void by_hand(const Arrays *a, int rank, int64_t begin, int64_t end, const StepScalars &k) {
    int64_t i = begin;
    // Streamed stores are of whole lines.
    for (; Streamed && i < end && reinterpret_cast<uintptr_t>(a[1 - rank].p + i) % 64; i++)
        update16<false>(a, rank, i, begin, 1, k);
    for (; i + 16 <= end; i += 16) update16<Streamed>(a, rank, i, begin, 0xffff, k);
    if (i < end) update16<false>(a, rank, i, begin, __mmask16((1u << (end - i)) - 1), k);
    if constexpr (Streamed) _mm_sfence();
}
#endif

bool has_avx512() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// Medians of this many rounds.
constexpr int rounds = 7;

// The share of the speed of the better loop by hand that the step reaches.
Figure measure(int64_t n) {
    Arrays arrays[ranks];
    Spinning barrier(ranks);
    Interleaved times(3, rounds, ranks);
    stretto::run(stretto::threads(ranks), [&](stretto::Communicator &c) {
        const int r = c.rank();
        pin_to_core(r);
        auto [begin, end] = c.slice(n);
        arrays[r] = {c.allocate<float>(n), c.allocate<float>(n), c.allocate<float>(end - begin),
                     c.allocate<float>(end - begin)};
        Arrays &a = arrays[r];
        for (int64_t i = 0; i < n; i++) a.p[i] = optimizer_perf::initial(i).p;
        for (int64_t i = begin; i < end; i++) a.m[i - begin] = 0.5f, a.v[i - begin] = 0.5f;
        stretto::View g(a.g, {n}), p(a.p, {n}), m(a.m, {end - begin}, {begin}),
            v(a.v, {end - begin}, {begin});
        int64_t step = 0;
        const Hyperparameters h;
        c.barrier();
        auto prepare = [&](size_t) {
            perf::fill<perf::Element::Float>(a.g, r, n);
            barrier.wait(r);
        };
        auto hand = [&](auto loop) {
            StepScalars k(h, ++step);
            barrier.wait(r);
            loop(arrays, r, begin, end, k);
            barrier.wait(r);
        };
        times.run(
            r, [&] { barrier.wait(r); }, prepare,
            {
                [&] {
                    stretto::check_status(adam_fused(c, g, p, m, v, h.lr, h.beta1, h.beta2, h.eps, ++step));
                },
#if defined(__x86_64__)
                    [&] { hand(by_hand<false>); }, [&] { hand(by_hand<true>); }
#endif
            });
        barrier.wait(r);
        for (float *x : {a.g, a.p, a.m, a.v}) c.free(x);
    });
    char text[96];
    snprintf(text, sizeof text, "%.2f us; by hand %.2f, streamed %.2f", times.median_time(0) * 1e6,
             times.median_time(1) * 1e6, times.median_time(2) * 1e6);
    return {times.median_of([](const std::vector<double> &t) { return std::min(t[1], t[2]) / t[0]; }), text};
}

}  // namespace

int main() {
    Bounds bounds;
    const char *why = !has_avx512()     ? "the loops that it is compared with need AVX-512"
                      : cores() < ranks ? "two ranks need two cores"
                                        : nullptr;
    if (why) bounds.not_measured("fused Adam", why);
    else
        for (int64_t power : {10, 14, 20, 24})
            for (int64_t n : {int64_t(1) << power, (int64_t(1) << power) + 1})
                bounds.at_least("fused Adam, 2 threads, " + std::to_string(n) + " elements, of loops by hand",
                                power > 10 ? 0.8 : 0.6, [&] { return measure(n); });
    return bounds.status();
}
