// Optimizers made of random elementwise chains, with several states, and the schedule that makes one sweep of each.
#pragma once
#include <random>

#include <stretto/stretto.h>

namespace stretto::test {

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

    // What a step of n elements on `ranks` ranks moves: all ranks' g and p read, p written; the states read and written once.
    double bytes(int64_t n, int ranks) const { return double(n) * (8.0 * ranks + 4 + 8.0 * double(states.size())); }
};

// Seed, states, operations.
constexpr struct {
    unsigned seed;
    int states, operations;
} random_optimizers[] = {{1, 1, 5}, {2, 2, 12}, {3, 4, 20}};

}  // namespace stretto::test
