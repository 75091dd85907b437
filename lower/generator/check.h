// Does a schedule compute what the program says? Compiled kernels on threads against the reference.
#pragma once
#include <functional>

#include "lang/reference/reference.h"
#include "lower/generator/jit.h"

namespace stretto {

struct CheckOptions {
    std::vector<int> ranks = {1, 2, 4};
    std::vector<int64_t> sizes;   // values of every Size in turn; empty: 0, 1, P-1, P, P+1, 1009, or the next that meet require
    bool streaming_size = false;  // also one past the size from which peers are written with streaming stores
    uint64_t seed = 1;
    std::function<std::vector<Communicator>(int ranks)> world = threads;  // where it runs: one handle a rank
    CompileOptions compile;
};

struct CheckReport {
    struct Output {
        std::string name;
        int64_t elements = 0, different = 0;
        double largest = 0;  // difference
    };
    int runs = 0;
    int refused = 0;  // of the runs: by the requirement `requirement`, as they should be
    std::string requirement;
    int empty = 0;                 // left out: at these sizes the program reads elements of a tensor that has none
    std::vector<Output> outputs;   // of all runs together
    std::string first_difference;  // "n = 5, 3 ranks: p on rank 2 at [4] is 1.5, the reference has 1.25"
    bool ok() const;               // false also if there is nothing to compare
};
// One line an output.
std::string to_string(const CheckReport &);

// Inputs distinct in rank and index, from each argument's .range, and such that requirements hold where those can be found.
// Throws RuntimeError if a call fails.
CheckReport check(const Program &, const Schedule &, const CheckOptions & = {});
CheckReport check(const Program &, const Schedule &, const std::vector<int> &ranks);

// The same for a lowered graph: what `program` says against what `lowered` computes.
CheckReport check_lowered(const Graph &program, const Graph &scheduled, const Compiled &, const CheckOptions &);

}  // namespace stretto
