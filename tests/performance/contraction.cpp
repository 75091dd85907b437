// Contractions by the panel schedule, on one thread, beside the rate of multiply-adds that stay in registers, and beside
// OpenBLAS where it is found.
#include <stretto/stretto.h>
#include "tests/performance/bound.h"
#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if STRETTO_HAS_BLAS
#include <cblas.h>
#endif

#include "apps/perf/values.h"

#ifndef STRETTO_HAS_BLAS
#define STRETTO_HAS_BLAS 0
#endif

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr int rounds = 7;

struct Product {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}}, w{"w", f32, {K, H}};
    Output<Tensor> y{"y", f32, {B, H}};
    Program program = define();
    Program define() {
        y(b, h) = sum_over(k, x(b, k) * w(k, h));
        return Program("product", {x, w, y});
    }
};

#if defined(__x86_64__)
// Twelve chains hide a latency of 4 cycles on two units. One statement a chain, since an array would be kept in memory; the
// empty asm keeps the compiler from computing the result. Returns the operations.
#define STRETTO_CHAINS(f)                                                                           \
    a0 = f(a0), a1 = f(a1), a2 = f(a2), a3 = f(a3), a4 = f(a4), a5 = f(a5), a6 = f(a6), a7 = f(a7), \
    a8 = f(a8), a9 = f(a9), a10 = f(a10), a11 = f(a11);                                             \
    asm volatile(""                                                                                 \
                 : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));                     \
    asm volatile(""                                                                                 \
                 : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11))
__attribute__((target("avx512f,fma"))) double multiply_adds_512(int count) {
    __m512 x = _mm512_set1_ps(0.5f), y = _mm512_set1_ps(1);
    __m512 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, a11 = y;
    for (int i = 0; i < count; i++) {
#define STRETTO_FMA(a) _mm512_fmadd_ps(a, x, y)
        STRETTO_CHAINS(STRETTO_FMA);
#undef STRETTO_FMA
    }
    return 2.0 * 16 * 12 * count;
}
__attribute__((target("avx2,fma"))) double multiply_adds_256(int count) {
    __m256 x = _mm256_set1_ps(0.5f), y = _mm256_set1_ps(1);
    __m256 a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, a11 = y;
    for (int i = 0; i < count; i++) {
#define STRETTO_FMA(a) _mm256_fmadd_ps(a, x, y)
        STRETTO_CHAINS(STRETTO_FMA);
#undef STRETTO_FMA
    }
    return 2.0 * 8 * 12 * count;
}
#undef STRETTO_CHAINS
bool has_fma() { return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"); }
double multiply_adds(int count) {
    return __builtin_cpu_supports("avx512f") ? multiply_adds_512(count) : multiply_adds_256(count);
}
#else
bool has_fma() { return false; }
double multiply_adds(int) { return 0; }
#endif

struct Measured {
    double ours, blas, peak;  // operations a second
    double share, blas_share;
};

Measured measure(const Compiled &f, int64_t n) {
    const double operations = 2.0 * double(n) * double(n) * double(n);
    const int count = int(operations / 384 / 4) + 1;  // a quarter of the product's
    double peak_operations = 0;
    Interleaved times(3, rounds, 1);
    run(threads(1), [&](Communicator &c) {
        pin_to_core(0);
        float *x = c.allocate<float>(n * n), *w = c.allocate<float>(n * n), *y = c.allocate<float>(n * n);
        perf::fill<perf::Element::Float>(x, 0, n * n);
        perf::fill<perf::Element::Float>(w, 1, n * n);
        View x_view(x, {n, n}), w_view(w, {n, n}), y_view(y, {n, n});
        void *argv[] = {x_view.get(), w_view.get(), y_view.get()};
        times.run(
            0, [] {}, [](size_t) {},
            {[&] { peak_operations = multiply_adds(count); }, [&] { check_status(f.execute(c, argv)); },
             [&] {
#if STRETTO_HAS_BLAS
                 int m = int(n);
                 cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, m, m, 1, x, m, w, m, 0, y, m);
#endif
             }});
    });
    Measured m;
    m.peak = peak_operations / times.median_time(0);
    m.ours = operations / times.median_time(1);
    m.blas = operations / times.median_time(2);
    m.share = times.median_of([&](auto &t) { return operations / t[1] / (peak_operations / t[0]); });
    m.blas_share = times.median_of([&](auto &t) { return operations / t[2] / (peak_operations / t[0]); });
    return m;
}

Figure rate(const Compiled &f, int64_t n) {
    Measured m = measure(f, n);
    char text[128];
    [[maybe_unused]] int end = snprintf(text, sizeof text, "%.1f of %.1f GFlop/s", m.ours / 1e9, m.peak / 1e9);
#if STRETTO_HAS_BLAS
    snprintf(text + end, sizeof text - size_t(end), "; OpenBLAS (%s) %.1f, %.2f", openblas_get_corename(), m.blas / 1e9,
             m.blas_share);
#endif
    return {m.share, text};
}

}  // namespace

int main() {
    Bounds bounds;
    if (!has_fma()) {
        bounds.not_measured("contractions", "the processor has no AVX2 with FMA to compare with");
        return bounds.status();
    }
#if STRETTO_HAS_BLAS
    openblas_set_num_threads(1);
#endif
    Product p;
    Compiled f = compile(p.program);
    bounds.at_least("contraction 1024^3, 1 thread, of multiply-adds in registers", 0.7, [&] { return rate(f, 1024); });
    bounds.at_least("contraction 256^3, 1 thread, of multiply-adds in registers", 0.5, [&] { return rate(f, 256); });
    return bounds.status();
}
