#include <array>
#include <memory>
#include "lang/order.h"
#include "lang/reference/arithmetic.h"
#include "lang/reference/nodes.h"
#include "lang/text.h"

namespace stretto::interpreter {

namespace {

using Range = std::pair<int64_t, int64_t>;  // begin and end

Range block_of(int64_t n, int64_t k, int ranks) {
    return {block_begin(n, int(k), ranks), block_begin(n, int(k) + 1, ranks)};
}

Value multiply_add(const Type &t, Value a, Value b, Value sum) {
    if (t == f32) return Value::of(std::fma(a.as<float>(), b.as<float>(), sum.as<float>()));
    return Value::of(std::fma(a.as<double>(), b.as<double>(), sum.as<double>()));
}

// f(index) for every index: `free`, and behind it every index of the ranges, the last one fastest.
template <class F>
void for_each_reduced(const std::vector<int64_t> &free, const std::vector<Range> &ranges, F f) {
    std::vector<int64_t> begin = free, extent(free.size(), 1);
    for (auto &[from, to] : ranges) {
        begin.push_back(from);
        extent.push_back(to - from);
    }
    for_each_index(begin, extent, f);
}

class Reducer {
    const Run &run;
    const Node &n;
    const RankState &rank;
    const ReduceOp op;
    const Type type;
    const Names indices;
    Evaluator value;
    std::vector<Evaluator> factors;  // of a product that is added by fused multiply-add

    Value addend(const std::vector<int64_t> &index) { return cast_value(value(rank, index), value.type(), type); }

    // Where each rvar runs: the rank's block of it if an operand is sliced on it, else all of it.
    std::vector<Range> ranges() const {
        std::vector<Range> r;
        for (auto &i : n.domain) {
            if (!i.reduced) continue;
            const int64_t extent = run.extent(i.extent);
            r.push_back(i.axes.empty() ? Range{0, extent} : block_of(extent, rank.rank, rank.ranks));
        }
        return r;
    }

    // The addends at `free` and every index of the ranges, in one order or the other.
    Value in_sequence(const std::vector<int64_t> &free, const std::vector<Range> &ranges) {
        Value sum = neutral(op, type);
        for_each_reduced(free, ranges, [&](const std::vector<int64_t> &index) {
            if (factors.empty()) sum = combine(op, type, sum, addend(index));
            else sum = multiply_add(type, factors[0](rank, index), factors[1](rank, index), sum);
        });
        return sum;
    }
    Value by_lanes(const std::vector<int64_t> &free, const std::vector<Range> &ranges) {
        Value sum = neutral(op, type);
        std::array<Value, order_lanes> lanes;
        int64_t linear = 0;
        auto end_sub_block = [&] {
            for (int w = order_lanes / 2; w >= 1; w /= 2)
                for (int l = 0; l < w; l++) lanes[l] = combine(op, type, lanes[l], lanes[l + w]);
            sum = combine(op, type, sum, lanes[0]);
        };
        for_each_reduced(free, ranges, [&](const std::vector<int64_t> &index) {
            if (linear % order_sub_block == 0) {
                if (linear > 0) end_sub_block();
                lanes.fill(neutral(op, type));
            }
            Value &lane = lanes[size_t(linear++ % order_lanes)];
            lane = combine(op, type, lane, addend(index));
        });
        if (linear > 0) end_sub_block();
        return sum;
    }
    Value block(const Blocks &b, int64_t number) {
        std::vector<Range> r = ranges();
        r[size_t(b.split)] = block_of(run.extent(n.domain[1 + size_t(b.split)].extent), number, rank.ranks);
        return by_lanes({number}, r);
    }
    Value fold() {
        Value sum;
        for (int64_t b = 0; b < rank.ranks; b++) sum = b ? combine(op, type, sum, addend({b})) : addend({b});
        return sum;
    }

public:
    Reducer(const Run &run, const Node &n, int r)
        : run(run),
          n(n),
          rank(run.ranks[size_t(r)]),
          op(n.reduce_op()),
          type(n.accumulator),
          indices(mapped(n.domain, [](const Index &i) { return i.name; })),
          value(n.value, indices) {
        auto *product = n.value.as<Halide::Internal::Mul>();
        if (n.as<Reduction>() && order_of(n) == Order::Chain && type.is_float() && run.options.fused_multiply_add)
            factors = {Evaluator(product->a, indices), Evaluator(product->b, indices)};
    }
    Value operator()(const std::vector<int64_t> &vars) {
        if (auto *b = n.as<Blocks>()) return block(*b, vars[0]);
        if (n.as<Fold>()) return fold();
        return order_of(n) == Order::Lanes ? by_lanes(vars, ranges()) : in_sequence(vars, ranges());
    }
};

}  // namespace

std::function<Value(const std::vector<int64_t> &)> reduction(const Run &run, const Node &n, int rank) {
    auto reducer = std::make_shared<Reducer>(run, n, rank);
    return [=](const std::vector<int64_t> &vars) { return (*reducer)(vars); };
}

}  // namespace stretto::interpreter
