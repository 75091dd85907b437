// The values of the nodes of a graph on all ranks: what an interpretation is made of.
#pragma once
#include "lang/reference/evaluate.h"
#include "lang/reference/reference.h"

namespace stretto::interpreter {

int64_t extent_of(const Graph &, const Dim &, const std::map<std::string, int64_t> &sizes, int ranks);
// The part of a tensor that a rank has, zeros.
HostTensor part_of(const Graph &, const Type &, const Dims &, const Layout &, const std::map<std::string, int64_t> &sizes,
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
    HostTensor part(const Node &n, int rank) const {
        return part_of(graph, n.type, n.dims(), n.layout, ranks[0].sizes, rank, count());
    }
};

// Computes node n, whose operands have values, on every rank. Not for arguments.
void compute(Run &, const Node &n);

// What gives an element of a Reduction, a Blocks or a Fold node on a rank, in n.accumulator.
std::function<Value(const std::vector<int64_t> &vars)> reduction(const Run &, const Node &n, int rank);

}  // namespace stretto::interpreter
