// Fusion is no special case of Adam: optimizers made of random elementwise chains, with several states, become one sweep
// that takes little longer than the bytes it must move, at the rate of a streaming triad that is timed beside it.
#include <doctest/doctest.h>
#include "stretto.h"
#include "tests/performance/interleaved.h"
#include "tests/performance/spinning.h"
#include "tests/skip.h"

#include <random>

#include "apps/perf/values.h"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr int ranks_here = 2, rounds = 7;
constexpr int64_t n_large = 1 << 24;
constexpr double most = 1.25;

// g is summed over ranks; a chain of `operations` on it, the parameter, the states and earlier results; every state and
// the parameter move towards results of the chain. All values stay within a few times their inputs, whatever is drawn.
struct RandomOptimizer {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}};
    std::vector<InOut<Tensor>> states;
    Tensor gsum{"gsum"};
    std::vector<Tensor> nodes;  // after gsum, in order
    int operations;
    Program program;

    RandomOptimizer(unsigned seed, int state_count, int operations)
        : states(make_states(state_count)), operations(operations), program(define(seed)) {}

    static std::vector<InOut<Tensor>> make_states(int count) {
        Size n{"n"};
        std::vector<InOut<Tensor>> list;
        for (int s = 0; s < count; s++)
            list.emplace_back("s" + std::to_string(s), f32, std::vector<Extent>{n});
        return list;
    }

    static Expr combined(unsigned kind, const Expr &a, const Expr &b) {
        switch (kind) {
        case 0: return (a + b) * 0.5f;
        case 1: return (a - b) * 0.5f;
        case 2: return a * b * 0.25f;
        case 3: return max(a, b);
        case 4: return min(a, b) + 0.125f;
        case 5: return select(a < b, a, b * 0.5f);
        case 6: return abs(a) * 0.75f + 0.0625f;
        case 7: return a / (abs(b) + 1.0f);
        default: return sqrt(abs(a) + 0.25f);
        }
    }

    Program define(unsigned seed) {
        std::mt19937 draw(seed);
        gsum = all_reduce(g);
        std::vector<Expr> values{p(i)};
        for (auto &s : states) values.push_back(s(i));
        Expr last = gsum(i);
        for (int k = 0; k < operations; k++) {
            Tensor x("x" + std::to_string(k));
            x(i) = combined(draw() % 9, last, values[draw() % values.size()]);
            nodes.push_back(x);
            values.push_back(last);
            last = x(i);
        }
        std::vector<ArgumentRef> arguments{g, p};
        for (size_t s = 0; s < states.size(); s++) {
            Tensor x("s" + std::to_string(s) + "_new");
            x(i) = states[s](i) * 0.9f + (s ? values[values.size() - s] : last) * 0.1f;
            nodes.push_back(x);
            update(states[s], x);
            arguments.push_back(states[s]);
        }
        Tensor moved("p_new");
        moved(i) = p(i) * 0.999f - last * 0.001f;
        nodes.push_back(moved);
        update(p, moved);
        return Program("random" + std::to_string(seed), arguments);
    }

    Schedule fused() const {
        Schedule s(program);
        auto [rs, ag] = s.split(gsum);
        std::vector<Tensor> used;  // what no result needs is gone
        for (auto &node : nodes)
            if (s.graph().find(node.name())) used.push_back(node);
        s.reorder(ag, used);
        for (auto &state : states) s.as_slice(state);
        s.fuse_all();
        return s;
    }

    // All ranks' g and p read, p written; the states read and written once.
    double bytes() const { return double(n_large) * (8.0 * ranks_here + 4 + 8.0 * double(states.size())); }
};

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

struct Measured {
    double over_floor, step_ms, triad_rate;
};

Measured measure(const RandomOptimizer &o, const Compiled &f) {
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
    Measured m;
    m.over_floor = times.median_of(
        [&](const std::vector<double> &t) { return t[1] / (o.bytes() / (triad_bytes / t[0])); });
    m.step_ms = times.median_time(1) * 1e3;
    m.triad_rate = triad_bytes / times.median_time(0);
    return m;
}

void require_near_floor(unsigned seed, int state_count, int operations) {
    RandomOptimizer o(seed, state_count, operations);
    INFO(o.program);
    Schedule s = o.fused();
    Compiled f = compile(o.program, s);
    CHECK(f.plan().stages.size() == 1);
    CheckOptions small;
    small.ranks = {1, 2, 3};
    small.sizes = {0, 5, 1009};
    CheckReport report = check(o.program, s, small);
    CHECK_MESSAGE(report.ok(), to_string(report));
    double best = 1e9;
    for (int attempt = 0; attempt < attempts && best > most; attempt++) {
        Measured m = measure(o, f);
        best = std::min(best, m.over_floor);
        printf(
            "random optimizer %u, %d operations, %d states, 2^24 elements: %.2f ms, %.2f times what its "
            "bytes take at %.1f GB/s "
            "(at most %.2f)\n",
            seed, operations, state_count, m.step_ms, m.over_floor, m.triad_rate / 1e9, most);
        fflush(stdout);
    }
    CHECK(best <= most);
}

}  // namespace

TEST_CASE("random optimizers take little longer than their bytes") {
    if (cores() < ranks_here) skip("performance.generality", "two ranks need two cores");
    require_near_floor(1, 1, 5);
    require_near_floor(2, 2, 12);
    require_near_floor(3, 4, 20);
}
