#include "training.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include "adam_default.h"
#include "adam_fused.h"
#include "adam_on_slices.h"
#include "digits_evaluate.h"
#include "digits_gather.h"
#include "digits_gradients.h"

namespace digits {

using stretto::check_status;
using stretto::Communicator;
using stretto::View;
using stretto::view;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

// FNV-1a, 64 bits.
uint64_t hash_of(const void *data, size_t bytes) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t k = 0; k < bytes; k++) h = (h ^ static_cast<const uint8_t *>(data)[k]) * 0x100000001b3;
    return h;
}

// The optimizer's vectors are flat; the network's tensors are views of their parts, one after the other.
class Layers {
    int64_t h1, h2;
    int64_t w1 = 0, b1 = w1 + pixels * h1, w2 = b1 + h1, b2 = w2 + h1 * h2, w3 = b2 + h2, b3 = w3 + h2 * classes;
    int64_t end = b3 + classes;

public:
    explicit Layers(const Settings &s) : h1(s.hidden1), h2(s.hidden2) {
    }
    int64_t size() const {
        return end;
    }
    std::vector<View> views(float *flat) const {
        return {view(flat + w1, {pixels, h1}), view(flat + b1, {h1}), view(flat + w2, {h1, h2}),
                view(flat + b2, {h2}), view(flat + w3, {h2, classes}), view(flat + b3, {classes})};
    }
    // Weights uniform with variance 2 / inputs (He et al., 2015), biases 0.
    void initialise(float *flat, uint64_t key) const {
        Random r(key);
        std::fill(flat, flat + end, 0.0f);
        auto fill = [&](int64_t from, int64_t inputs, int64_t outputs) {
            float bound = std::sqrt(6 / float(inputs));
            std::generate(flat + from, flat + from + inputs * outputs, [&] { return r.uniform(-bound, bound); });
        };
        fill(w1, pixels, h1);
        fill(w2, h1, h2);
        fill(w3, h2, classes);
    }
};

// One network in training, with the optimizer's state. The memory is the communicator's, which frees it.
struct Model {
    Optimizer optimizer;
    Layers layers;
    int64_t begin, end;  // of m and v
    float *p, *g, *m, *v;
    std::vector<View> weights, gradients;
    std::vector<double> step_us, update_us;
    uint64_t moved = 0;

    Model(Communicator &c, const Optimizer &o, const Settings &s) : optimizer(o), layers(s) {
        int64_t n = layers.size();
        std::tie(begin, end) = o.state_on_slices ? c.slice(n) : std::pair<int64_t, int64_t>(0, n);
        p = c.allocate<float>(n);
        g = c.allocate<float>(n);
        m = c.allocate<float>(end - begin);
        v = c.allocate<float>(end - begin);
        layers.initialise(p, key_of(s.seed, 0));
        std::fill(m, m + (end - begin), 0.0f);
        std::fill(v, v + (end - begin), 0.0f);
        weights = layers.views(p);
        gradients = layers.views(g);
    }
    int64_t state_bytes() const {
        return 2 * (end - begin) * int64_t(sizeof(float));
    }
};

// This rank's part of a batch: a slice of the images [0, batch) of all ranks.
class Batch {
    int64_t all, begin, end;
    float *x;
    int32_t *y;

public:
    Batch(Communicator &c, int64_t batch) : all(batch) {
        std::tie(begin, end) = c.slice(batch);
        x = c.allocate<float>((end - begin) * pixels);
        y = c.allocate<int32_t>(end - begin);
    }
    int64_t size() const {
        return all;
    }
    // fill(n, image, digit) for each n of the slice.
    template <class Fill>
    void fill(Fill &&f) {
        for (int64_t n = begin; n < end; n++) f(n, x + (n - begin) * pixels, y[n - begin]);
    }
    View images() const {
        return view(x, {end - begin, pixels}, {begin, 0});
    }
    View digits() const {
        return view(y, {end - begin}, {begin});
    }
};

void compute_gradients(Communicator &c, const Batch &b, Model &m) {
    constexpr float smoothing = 0.1f;
    auto &w = m.weights, &g = m.gradients;
    check_status(digits_gradients(c, b.images(), b.digits(), w[0], w[1], w[2], w[3], w[4], w[5],
                                  smoothing, g[0], g[1], g[2], g[3],
                                  g[4], g[5], b.size()));
}

void update(Communicator &c, Model &m, double learning_rate, int64_t step) {
    int64_t n = m.layers.size(), state = m.end - m.begin;
    check_status(m.optimizer.update(c, view(m.g, {n}), view(m.p, {n}),
                                    view(m.m, {state}, {m.begin}), view(m.v, {state}, {m.begin}),
                                    learning_rate, 0.9, 0.999, 1e-8, step));
}

uint64_t bytes_moved(const Communicator &c) {
    stretto_stats s = c.stats();
    return s.bytes_loaded + s.bytes_stored + s.bytes_sent + s.bytes_bounced;
}

void train_step(Communicator &c, const Batch &batch, Model &m, double learning_rate, int64_t step) {
    c.barrier();
    auto start = Clock::now();
    compute_gradients(c, batch, m);
    c.barrier();  // the update's time is not that of waiting for a rank that computes its gradients
    uint64_t before = bytes_moved(c);
    auto middle = Clock::now();
    update(c, m, learning_rate, step);
    auto end = Clock::now();
    m.moved += bytes_moved(c) - before;
    m.step_us.push_back(microseconds(start, end));
    m.update_us.push_back(microseconds(middle, end));
}

double accuracy_of(Communicator &c, const Batch &test, Model &m) {
    int32_t *right = c.allocate<int32_t>(classes);  // of each digit
    auto &w = m.weights;
    check_status(digits_evaluate(c, test.images(), test.digits(), w[0], w[1], w[2], w[3], w[4], w[5], view(right, {classes}),
                                 test.size()));
    double accuracy = std::accumulate(right, right + classes, 0.0) / double(test.size());
    c.free(right);
    return accuracy;
}

// What every rank gave, rank by rank; each gives as many.
template <class T>
std::vector<T> gather(Communicator &c, const std::vector<T> &values) {
    static_assert(sizeof(T) == sizeof(uint64_t));
    int64_t count = int64_t(values.size()), n = count * c.ranks();
    uint64_t *mine = c.allocate<uint64_t>(count), *all = c.allocate<uint64_t>(n);
    std::memcpy(mine, values.data(), values.size() * sizeof(T));
    check_status(digits_gather(c, view(mine, {count}, {count * c.rank()}), view(all, {n})));
    std::vector<T> result(static_cast<size_t>(n));
    std::memcpy(result.data(), all, size_t(n) * sizeof(T));
    c.free(mine);
    c.free(all);
    return result;
}

std::vector<double> slowest(Communicator &c, const std::vector<double> &mine) {
    std::vector<double> all = gather(c, mine), result = mine;
    for (size_t k = 0; k < all.size(); k++) result[k % mine.size()] = std::max(result[k % mine.size()], all[k]);
    return result;
}

Outcome outcome_of(Communicator &c, const Batch &test, Model &m) {
    Outcome o;
    o.schedule = m.optimizer.name;
    o.accuracy = accuracy_of(c, test, m);
    o.step_us = slowest(c, m.step_us);
    o.update_us = slowest(c, m.update_us);
    auto numbers =
        gather<uint64_t>(c, {hash_of(m.p, size_t(m.layers.size()) * sizeof(float)), m.moved, uint64_t(m.state_bytes())});
    o.weights = numbers[0];
    for (int r = 0; r < c.ranks(); r++) {
        const uint64_t *of_rank = numbers.data() + 3 * r;
        o.ranks_agree = o.ranks_agree && of_rank[0] == o.weights;
        o.moved_bytes += double(of_rank[1]) / c.ranks() / double(std::max<size_t>(m.step_us.size(), 1));
        o.state_bytes = std::max(o.state_bytes, int64_t(of_rank[2]));
    }
    return o;
}

}  // namespace

const std::vector<Optimizer> &optimizers() {
    static const std::vector<Optimizer> all = {
        {"default", adam_default, false}, {"on_slices", adam_on_slices, true}, {"fused", adam_fused, true}};
    return all;
}

int64_t parameter_count(const Settings &s) {
    return Layers(s).size();
}

std::vector<Outcome> train(Communicator &c, const Data &data, const Settings &s) {
    std::vector<Model> models;
    for (auto &o : s.schedules) models.emplace_back(c, o, s);
    Batch batch(c, s.batch);
    const int64_t steps_an_epoch = data.training.count() / s.batch, steps = steps_an_epoch * s.epochs;
    int64_t step = 0;
    for (int64_t epoch = 0; epoch < s.epochs; epoch++) {
        if (c.rank() == 0 && s.progress) s.progress(epoch);
        auto order = shuffled(data.training.count(), key_of(s.seed, 1, uint64_t(epoch)));
        for (int64_t k = 0; k < steps_an_epoch; k++, step++) {
            batch.fill([&](int64_t n, float *image, int32_t &digit) {
                int32_t which = order[size_t(k * s.batch + n)];
                distort(data.training.image(which), key_of(s.seed, 2 + uint64_t(epoch), uint64_t(which)), image);
                digit = data.training.digits[size_t(which)];
            });
            double rate = s.learning_rate * (1 - double(step) / double(steps));
            for (size_t i = 0; i < models.size(); i++)  // a different one first each time
                train_step(c, batch, models[(i + size_t(step)) % models.size()], rate, step + 1);
        }
    }
    Batch test(c, data.test.count());
    test.fill([&](int64_t n, float *image, int32_t &digit) {
        std::copy_n(data.test.image(n), pixels, image);
        digit = data.test.digits[size_t(n)];
    });
    std::vector<Outcome> outcomes;
    for (auto &m : models) outcomes.push_back(outcome_of(c, test, m));
    return outcomes;
}

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    auto middle = v.begin() + int64_t(v.size() / 2);
    std::nth_element(v.begin(), middle, v.end());
    return *middle;
}

}  // namespace digits
