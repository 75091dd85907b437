// The body of one kernel: a stage's expressions become Halide expressions over the kernel's parameters.
#pragma once
#include "lower/halide_adapter.h"
#include "lower/lowering.h"

namespace stretto {

// How a kernel gets at the addends of a reduction over ranks.
struct AddendSource {
    enum Kind {
        Direct,   // one parameter a rank
        OneRank,  // one parameter, for the rank in turn
        Chunks    // the sum is in a scratch chunk already
    } kind = Direct;
    int ranks = 1;  // of Direct
};

// Is this plan scalar the number of ranks, in some type?
bool is_ranks(const Expr &);

// The lanes of values of a type, narrower ones taken as wide as that: those that the schedule asks for, else the target's.
int vector_width(const Stage &, const Halide::Target &, const Type &, int least_bits = 32);

// Row-major to Halide's order, and back.
template <class T>
std::vector<T> reversed(const std::vector<T> &v) {
    return {v.rbegin(), v.rend()};
}

class KernelBody {
    struct Operand {
        int number;                            // of the plan scalar, the access, or the sum
        std::vector<Halide::Parameter> slots;  // one a rank for loads from Each of a direct kernel, else one
    };
    using Operands = std::vector<Operand>;
    class IntoKernel;
    const Lowering &l;
    AddendSource addends;
    Operands scalars, loads, sums;
    std::vector<std::pair<std::string, Expr>> named;  // bindings, in order
    std::map<int, Expr> value_of;                     // by binding
    std::map<int, Expr> elements;                     // of out that are read, by position among the stores

    // Made at its first use.
    const Halide::Parameter &parameter(Operands &, const std::string &name, int number, const Halide::Parameter &like,
                                       int slots, int slot);
    Expr load_access(int k, const std::vector<Expr> &indices, int slot);
    Expr scalar(int number, const Type &);
    Expr compute(int binding);
    Expr out_element(int position) const;

public:
    const Stage &stage;
    Halide::Func out;
    KernelArguments arguments;  // the loops' ranges, and what is added
    std::vector<Expr> lo, hi;   // the ranges [lo, hi), row-major
    std::vector<Var> vars;      // for the loops over results, row-major
    std::vector<Expr> here;     // the loops' indices of the element that the kernel computes, row-major
    size_t outputs;             // of out: the stage's stores, and more of a kernel that stores to peers

    KernelBody(const Lowering &, const Stage &, const AddendSource &, const std::string &name);
    // The domain of loops number `from` and more.
    Halide::RDom domain(size_t from) const;
    // The value of a binding at `here`.
    Expr value(int binding);
    // An expression of the body at given indices of the loops; loads from ranks have parameter `slot`.
    Expr expression(const Expr &, const std::vector<Expr> &indices, int slot = 0);
    // e within the names that stand for bindings; strict, so that every schedule rounds alike.
    Expr finish(const Expr &e) const;
    // What is stored where binding 0, a reduction over loops, has this value.
    Expr result(const Expr &reduction);
    std::vector<Expr> elements_read() const;
    // Adds scalars, loads and sums to the arguments, in the plan's order; says which they are.
    std::unique_ptr<plan::KernelT> add_operands();
};

}  // namespace stretto
