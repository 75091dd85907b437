#include "tests/plan/kernels.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/plan/signature.h"

namespace stretto::test {
namespace {

// Element access by global, row-major indices; outside the view it is an error of the kernel.
struct At {
    const halide_buffer_t *b;
    int *error;

    float &operator()(const int64_t *index) const {
        static float nowhere;
        int64_t offset = 0;
        for (int j = 0; j < b->dimensions; j++) {
            int64_t i = index[b->dimensions - 1 - j] - b->dim[j].min;
            if (i < 0 || i >= b->dim[j].extent) {
                *error = -3;
                return nowhere;
            }
            offset += i * b->dim[j].stride;
        }
        return reinterpret_cast<float *>(b->host)[offset];
    }
};

class Arguments {
public:
    explicit Arguments(void **argv) : next_(argv) {}
    ~Arguments() = default;
    int32_t integer() { return *static_cast<int32_t *>(*next_++); }
    float real() { return *static_cast<float *>(*next_++); }
    At view() { return At{static_cast<halide_buffer_t *>(*next_++), &error}; }
    int error = 0;

private:
    void **next_;
};

struct Range {
    int64_t lo, hi;
};

template <int dims, class Body>
void loop(const Range *r, Body body) {
    int64_t i[2] = {0, 0};
    for (i[0] = r[0].lo; i[0] < r[0].hi; i[0]++) {
        if (dims == 1) body(i);
        else
            for (i[1] = r[1].lo; i[1] < r[1].hi; i[1]++) body(i);
    }
}

template <int dims>
void ranges(Arguments &a, Range *r) {
    for (int d = 0; d < dims; d++) r[d].lo = a.integer(), r[d].hi = a.integer();
}

template <int dims>
int add(void **argv) {
    Arguments a(argv);
    Range r[2];
    ranges<dims>(a, r);
    bool first = a.integer();
    At g = a.view(), chunk = a.view();
    loop<dims>(r, [&](const int64_t *i) { chunk(i) = first ? g(i) : chunk(i) + g(i); });
    return a.error;
}

template <int dims>
int copy(void **argv) {
    Arguments a(argv);
    Range r[2];
    ranges<dims>(a, r);
    At from = a.view(), to = a.view();
    loop<dims>(r, [&](const int64_t *i) { to(i) = from(i); });
    return a.error;
}

int copy_left(void **argv) {
    Arguments a(argv);
    Range r[1];
    ranges<1>(a, r);
    At from = a.view(), to = a.view();
    loop<1>(r, [&](const int64_t *i) {
        const int64_t left = *i ? *i - 1 : 0;
        to(i) = from(&left);
    });
    return a.error;
}

int copy_element(void **argv) {
    Arguments a(argv);
    At from = a.view(), to = a.view();
    to(nullptr) = from(nullptr);
    return a.error;
}

template <int dims, int ranks>
int add_ranks(void **argv) {
    Arguments a(argv);
    Range r[2];
    ranges<dims>(a, r);
    At g[ranks];
    for (At &x : g) x = a.view();
    At out = a.view();
    loop<dims>(r, [&](const int64_t *i) {
        float sum = g[0](i);
        for (int q = 1; q < ranks; q++) sum += g[q](i);
        out(i) = sum;
    });
    return a.error;
}

template <int views>
int momentum_step(void **argv, int peers = 0) {
    Arguments a(argv);
    Range r[1];
    ranges<1>(a, r);
    float rate = a.real();
    At g[views];
    for (At &x : g) x = a.view();
    At p = a.view(), m = a.view();
    std::vector<At> others;
    for (int k = 0; k < peers; k++) others.push_back(a.view());
    loop<1>(r, [&](const int64_t *i) {
        float sum = g[0](i);
        for (int q = 1; q < views; q++) sum += g[q](i);
        m(i) = 0.5f * m(i) + sum;
        p(i) = p(i) - rate * m(i);
        for (At &other : others) other(i) = p(i);
    });
    return a.error;
}

thread_local std::vector<int32_t> described;  // by kernel: the hash of its signature

int scalars(void **argv) {
    float lr = *static_cast<float *>(argv[0]);
    int64_t n = *static_cast<int64_t *>(argv[1]);
    int32_t ranks = *static_cast<int32_t *>(argv[2]), rank = *static_cast<int32_t *>(argv[3]);
    auto out = [&](int k) { return static_cast<halide_buffer_t *>(argv[4 + k])->host; };
    *reinterpret_cast<float *>(out(0)) = lr / 2;
    *reinterpret_cast<uint8_t *>(out(1)) = lr > 0;
    return n < 0 || rank < 0 || rank >= ranks ? -1 : 0;
}

int sum_of_block(void **argv) {
    Arguments a(argv);
    Range r[2];
    ranges<2>(a, r);
    At x = a.view(), out = a.view();
    float sum = 0;
    loop<1>(r + 1, [&](const int64_t *i) { sum += x(i); });
    out(&r[0].lo) = sum;
    return a.error;
}

int fold_all(void **argv) {
    Arguments a(argv);
    Range r[1];
    ranges<1>(a, r);
    At b = a.view(), out = a.view();
    float sum = 0;
    for (int64_t k = 0; k < b.b->dim[0].extent; k++) sum += b(&k);
    out(nullptr) = sum;
    return a.error;
}

int add_all_elements(void **argv) {
    Arguments a(argv);
    bool first = a.integer();
    At g = a.view(), chunk = a.view();
    float sum = first ? 0 : chunk(nullptr);
    for (int64_t k = 0; k < g.b->dim[0].extent; k++) sum += g(&k);
    chunk(nullptr) = sum;
    return a.error;
}

}  // namespace

void describe_kernels(const plan::PlanT &p) {
    described.clear();
    for (auto &s : plan::signatures(p)) described.push_back(plan::hash_of(s));
}

int dispatch(int kernel, void **argv) {
    if (kernel < 0) return described[size_t(-1 - kernel)];
    switch (kernel) {
    case add_1d: return add<1>(argv);
    case add_2d: return add<2>(argv);
    case copy_0d: return copy_element(argv);
    case copy_1d: return copy<1>(argv);
    case copy_2d: return copy<2>(argv);
    case add_2_ranks_1d: return add_ranks<1, 2>(argv);
    case add_4_ranks_1d: return add_ranks<1, 4>(argv);
    case add_2_ranks_2d: return add_ranks<2, 2>(argv);
    case add_4_ranks_2d: return add_ranks<2, 4>(argv);
    case momentum: return momentum_step<1>(argv);
    case momentum_2_ranks: return momentum_step<2>(argv);
    case momentum_scalars: return scalars(argv);
    case block_sum: return sum_of_block(argv);
    case fold: return fold_all(argv);
    case add_whole: return add_all_elements(argv);
    case failing: return -7;
    case momentum_2_ranks_to_peers: return momentum_step<2>(argv, 1);
    case left_neighbour: return copy_left(argv);
    default: std::abort();
    }
}

}  // namespace stretto::test
