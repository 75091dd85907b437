// Random elementwise expressions: chains of operations over given operands, each of which is used.
#pragma once
#include <map>
#include <random>
#include "lang/tensor.h"

namespace stretto {

// Random choices, the same for a seed on every platform.
class Draw {
    std::mt19937_64 engine;

public:
    explicit Draw(uint64_t seed) : engine(seed) {
    }
    // 0 .. n - 1
    int below(int n) {
        return int(engine() % uint64_t(n));
    }
    bool chance(int percent) {
        return below(100) < percent;
    }
    template <class T>
    const T &pick(const std::vector<T> &v) {
        return v[size_t(below(int(v.size())))];
    }
};

// How often each operation was generated, by name.
using OperationCounts = std::map<std::string, int64_t>;

// What expressions may use besides their operands.
struct Surroundings {
    std::vector<Expr> scalars;  // scalar arguments, sizes, ranks(); of any type
    std::vector<Expr> indices;
    Expr seed;          // for random and dropout; undefined: neither is used
    bool rank = false;  // rank() may be used: the result is local
};

// x as an integer of type `to`, from -100 to 100 where x is a float: what does not fit, NaN too, becomes 3.
Expr some_integer(const Type &to, const Expr &x);

// `operands` combined by a chain of `length` operations or more, of type t. Finite operands of
// moderate size give such a value, and no operation is undefined for any operand: floats become
// integers only where they fit.
Expr random_elementwise(Draw &, OperationCounts &, const Type &t, std::vector<Expr> operands,
                        const Surroundings &, int length);

// A chain that is linear in the addends `partials` of a pending sum; `others` are its replicated
// factors. Of the type of the first addend or a wider one.
Expr random_linear(Draw &, OperationCounts &, std::vector<Expr> partials,
                   const std::vector<Expr> &others, const Surroundings &, int length);

}  // namespace stretto
