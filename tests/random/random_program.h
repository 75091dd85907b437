// Random programs: for tests that no case written by hand would reach.
#pragma once
#include "lang/program.h"
#include "tests/random/random_expression.h"

namespace stretto {

struct RandomProgramOptions {
    int steps = 8;       // definitions, about; finishing pending reductions adds some
    int chain = 5;       // operations in an elementwise definition, at most
    int dimensions = 3;  // indices of the program, at most
    bool moved_reads =
        true;                   // reads of replicated tensors at other elements than the one that is computed
    bool float32_only = false;  // no other type of element
};

struct RandomProgram {
    Program program;
    // How often each operation occurs in it, by name; all of operation_names() are there, some with 0.
    OperationCounts operations;
};

const std::vector<std::string> &operation_names();

// The same program for the same seed and options. It is legal by construction: that it is refused
// is a mistake, of the generator or of the language, and throws an Error with the seed.
RandomProgram random_program(uint64_t seed, const RandomProgramOptions & = {});

// The same before it is built: its arguments, with what defines them.
std::vector<ArgumentRef> random_arguments(uint64_t seed, const RandomProgramOptions & = {});

// Sizes for it: each 0, 1, ranks - 1, ranks, ranks + 1, or some odd number.
std::map<std::string, int64_t> random_sizes(const Graph &, int ranks, uint64_t seed);

}  // namespace stretto
