#include <array>
#include "lang/order.h"
#include "lang/reference/arithmetic.h"
#include "lang/reference/nodes.h"

namespace stretto::interpreter {

namespace {

Names all_indices(const Node &n) {
    Names names;
    for (auto &i : n.domain) names.push_back(i.name);
    return names;
}

Value multiply_add(const Type &t, Value a, Value b, Value sum) {
    if (t == f32) return Value::of(std::fma(a.as<float>(), b.as<float>(), sum.as<float>()));
    return Value::of(std::fma(a.as<double>(), b.as<double>(), sum.as<double>()));
}

}  // namespace

Reducer::Reducer(const Run &run, const Node &n, int r)
    : run(run),
      n(n),
      rank(run.ranks[r]),
      op(n.reduce_op()),
      type(n.accumulator),
      value(n.value, all_indices(n)) {
    auto *product = n.value.as<Halide::Internal::Mul>();
    if (n.as<Reduction>() && order_of(n) == Order::Chain && type.is_float() && run.options.fused_multiply_add)
        factors = {Evaluator(product->a, all_indices(n)), Evaluator(product->b, all_indices(n))};
}

Value Reducer::addend() {
    return cast_value(value(rank, index), value.type(), type);
}

std::vector<Reducer::Range> Reducer::ranges() const {
    std::vector<Range> r;
    for (auto &i : n.domain) {
        if (!i.reduced) continue;
        int64_t extent = run.extent(i.extent);
        if (i.axes.empty()) r.push_back({0, extent});
        else r.push_back({block_begin(extent, rank.rank, rank.ranks), block_begin(extent, rank.rank + 1, rank.ranks)});
    }
    return r;
}

namespace {

// f(index) for every index: `free`, and behind it every index of the ranges, the last one fastest.
template <class Range, class F>
void for_each_reduced(const std::vector<int64_t> &free, const std::vector<Range> &ranges, F f) {
    std::vector<int64_t> begin = free, extent(free.size(), 1);
    for (auto &[from, to] : ranges) {
        begin.push_back(from);
        extent.push_back(to - from);
    }
    for_each_index(begin, extent, f);
}

}  // namespace

Value Reducer::in_sequence(const std::vector<int64_t> &free, const std::vector<Range> &ranges) {
    Value sum = neutral(op, type);
    for_each_reduced(free, ranges, [&](const std::vector<int64_t> &at) {
        index = at;
        if (factors.empty()) sum = combine(op, type, sum, addend());
        else sum = multiply_add(type, factors[0](rank, index), factors[1](rank, index), sum);
    });
    return sum;
}

Value Reducer::by_lanes(const std::vector<int64_t> &free, const std::vector<Range> &ranges) {
    Value sum = neutral(op, type);
    std::array<Value, order_lanes> lanes;
    int64_t linear = 0;
    auto end_sub_block = [&] {
        for (int w = order_lanes / 2; w >= 1; w /= 2)
            for (int l = 0; l < w; l++) lanes[l] = combine(op, type, lanes[l], lanes[l + w]);
        sum = combine(op, type, sum, lanes[0]);
    };
    for_each_reduced(free, ranges, [&](const std::vector<int64_t> &at) {
        index = at;
        if (linear % order_sub_block == 0) {
            if (linear > 0) end_sub_block();
            lanes.fill(neutral(op, type));
        }
        Value &lane = lanes[size_t(linear++ % order_lanes)];
        lane = combine(op, type, lane, addend());
    });
    if (linear > 0) end_sub_block();
    return sum;
}

Value Reducer::reduction(const std::vector<int64_t> &vars) {
    return order_of(n) == Order::Lanes ? by_lanes(vars, ranges()) : in_sequence(vars, ranges());
}

Value Reducer::block(int64_t number) {
    std::vector<Range> r = ranges();
    const size_t split = size_t(n.as<Blocks>()->split);
    const int64_t extent = run.extent(n.domain[1 + split].extent);
    r[split] = {block_begin(extent, int(number), rank.ranks), block_begin(extent, int(number) + 1, rank.ranks)};
    return by_lanes({number}, r);
}

Value Reducer::fold() {
    Value sum;
    for (int64_t b = 0; b < rank.ranks; b++) {
        index = {b};
        sum = b ? combine(op, type, sum, addend()) : addend();
    }
    return sum;
}

}  // namespace stretto::interpreter
