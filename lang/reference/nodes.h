// The values of the nodes of a graph on all ranks: what an interpretation is made of.
#pragma once
#include "lang/reference/evaluate.h"
#include "lang/reference/reference.h"

namespace stretto::interpreter {

struct Box {
    std::vector<int64_t> begin, extent;
};

int64_t extent_of(const Graph &, const Dim &, const std::map<std::string, int64_t> &sizes, int ranks);
// The part of a tensor that a rank has.
Box box_of(const Graph &, const Dims &, const Layout &, const std::map<std::string, int64_t> &sizes,
           int rank, int ranks);

struct Run {
    const Graph &graph;
    const ReferenceOptions &options;
    std::vector<RankState> ranks;

    int count() const {
        return int(ranks.size());
    }
    int64_t extent(const Dim &d) const {
        return extent_of(graph, d, ranks[0].sizes, count());
    }
    // The part of node n that a rank has.
    Box box(const Node &n, int rank) const {
        return box_of(graph, n.dims(), n.layout, ranks[0].sizes, rank, count());
    }
};

// Computes node n, whose operands have values, on every rank. Not for arguments.
void compute(Run &, const Node &n);

// One element of a Reduction, a Blocks and a Fold node, in accumulator_type(n.type). A new object
// for every node and rank.
class Reducer {
public:
    Reducer(const Run &, const Node &, int rank);
    Value reduction(const std::vector<int64_t> &vars);
    Value block(int64_t number);
    Value fold();

private:
    using Range = std::pair<int64_t, int64_t>;  // begin and end
    const Run &run;
    const Node &n;
    const RankState &rank;
    ReduceOp op;
    Type type;
    Evaluator value;
    std::vector<Evaluator> factors;  // of a product that is added by fused multiply-add
    std::vector<int64_t> index;

    Value addend();
    // Where each rvar runs: the rank's block of it if an operand is sliced on it, else all of it.
    std::vector<Range> ranges() const;
    // The addends at `free` and every index of the ranges, in one order or the other.
    Value in_sequence(const std::vector<int64_t> &free, const std::vector<Range> &);
    Value by_lanes(const std::vector<int64_t> &free, const std::vector<Range> &);
};

}  // namespace stretto::interpreter
