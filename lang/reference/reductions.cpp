#include <array>
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
    if (n.as<Reduction>() && op == Sum && product && product->type == type && type.is_float() &&
        run.options.fused_multiply_add)
        factors = {Evaluator(product->a, all_indices(n)), Evaluator(product->b, all_indices(n))};
}

Value Reducer::addend() {
    return cast_value(value(rank, index), value.type(), type);
}

std::pair<int64_t, int64_t> Reducer::range(size_t r) const {
    const Index &i = n.domain[n.dimensions() + r];
    int64_t n_all = run.extent(i.extent);
    if (i.axes.empty()) return {0, n_all};
    return {block_begin(n_all, rank.rank, rank.ranks), block_begin(n_all, rank.rank + 1, rank.ranks)};
}

Value Reducer::reduction(const std::vector<int64_t> &vars) {
    std::vector<int64_t> begin, extent;
    for (size_t r = 0; r < n.domain.size() - n.dimensions(); r++) {
        auto [from, to] = range(r);
        begin.push_back(from);
        extent.push_back(to - from);
    }
    Value sum = neutral(op, type);
    for_each_index(begin, extent, [&](const std::vector<int64_t> &reduced) {
        index = vars;
        index.insert(index.end(), reduced.begin(), reduced.end());
        if (factors.empty()) sum = combine(op, type, sum, addend());
        else sum = multiply_add(type, factors[0](rank, index), factors[1](rank, index), sum);
    });
    return sum;
}

Value Reducer::block(int64_t number) {
    constexpr int lanes = 64;
    const size_t split = size_t(n.as<Blocks>()->split);
    std::vector<int64_t> begin, extent;
    for (size_t r = 0; r + 1 < n.domain.size(); r++) {
        int64_t n_all = run.extent(n.domain[r + 1].extent);
        auto [from, to] = range(r);
        if (r == split) {
            from = block_begin(n_all, int(number), rank.ranks);
            to = block_begin(n_all, int(number) + 1, rank.ranks);
        }
        begin.push_back(from);
        extent.push_back(to - from);
    }
    std::array<Value, lanes> whole, rest;
    whole.fill(neutral(op, type));
    rest.fill(neutral(op, type));
    const int64_t in_groups = extent.back() / lanes * lanes;
    for_each_index(begin, extent, [&](const std::vector<int64_t> &reduced) {
        index = {number};
        index.insert(index.end(), reduced.begin(), reduced.end());
        int64_t offset = reduced.back() - begin.back();
        Value &lane = (offset < in_groups ? whole : rest)[size_t(offset % lanes)];
        lane = combine(op, type, lane, addend());
    });
    for (int l = 0; l < lanes; l++) whole[l] = combine(op, type, whole[l], rest[l]);
    for (int w = lanes / 2; w >= 1; w /= 2)
        for (int l = 0; l < w; l++) whole[l] = combine(op, type, whole[l], whole[l + w]);
    return whole[0];
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
