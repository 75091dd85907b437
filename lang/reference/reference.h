// The reference: runs a graph on P simulated ranks, element by element, by walking its expressions.
// It shares no code with lowering, so a difference between the two is a mistake in one of them.
// Scheduled graphs run too: they have the same kinds of nodes.
//
// Orders of reductions. Accumulators have accumulator_type(type), addends are cast to it first, and
// the result is cast to the node's type once.
//   Over ranks   ((x0 + x1) + x2) + ..., from rank 0's addend.
//   Chain        (which order a reduction over indices has: order.h.) From the identity (+0), sequential
//                in rvars, the last one fastest; of floats acc = fma(a, b, acc).
//   Columns      The same, acc = acc + addend, each operation rounded.
//   Lanes        The addends are numbered in row-major order of rvars. Every 4096 are a sub-block: 64
//                accumulators from the identity, addend k to A[k % 64]; then for w = 32, 16, 8, 4, 2, 1:
//                A[l] = A[l] + A[l + w] for l < w. The sub-blocks' A[0] in order, from the identity.
//   Blocks       Block b of P of rvars[split] and all of the other rvars, by lanes.
//                A rank reduces over its own block of an index that an operand is sliced on.
//   Fold         Blocks 0..P-1 in order, from block 0's value.
//   Max, Min     NaN if an operand is NaN, else with -0 < +0.
#pragma once
#include "lang/error.h"
#include "lang/graph.h"
#include "lang/reference/values.h"

namespace stretto {

struct RunInputs {
    std::map<std::string, int64_t> sizes;
    std::map<std::string, ScalarValue> scalars;
    std::map<std::string, std::vector<HostTensor>> tensors;  // by argument name, one a rank
};

struct RunResult {
    // Every Output and InOut argument after the call, by name, one a rank.
    std::map<std::string, std::vector<HostTensor>> arguments;
    // The text of the requirement that does not hold; then the arguments are as they were. Empty if
    // all hold.
    std::string failed_requirement;
};

struct ReferenceOptions {
    bool fused_multiply_add = true;  // false: the target has no FMA, contractions multiply, round, and add
};

// An element is read that its tensor does not have. empty: the tensor has none at all, so that no index would be right.
struct NoElement : Error {
    bool empty;
    NoElement(const std::string &text, bool empty) : Error(text), empty(empty) {}
};

// The texts of the requirements that these sizes and scalars do not meet, once for each operand of && that is false.
std::function<Names(const RunInputs &)> requirements_of(const Graph &, int ranks);

// Where block k of P of n elements begins; it ends where block k + 1 begins.
int64_t block_begin(int64_t n, int k, int ranks);

// This rank's part of an argument, zeros.
HostTensor make_host_tensor(const Graph &, const Argument &,
                            const std::map<std::string, int64_t> &sizes, int rank, int ranks);

// Throws an Error if an input is missing or has another type or shape than its argument, if a
// replicated argument differs between ranks, if an element outside of a tensor is read (NoElement), or
// if an expression has a part without a definition.
RunResult interpret(const Graph &, int ranks, const RunInputs &, const ReferenceOptions & = {});

}  // namespace stretto
