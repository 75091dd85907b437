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

class KernelBody {
    struct Operand {
        int number;                            // of the access, or of the sum
        std::vector<Halide::Parameter> slots;  // one a rank for loads from Each of a direct kernel, else one
    };
    const Lowering &l;
    const Stage &s;
    AddendSource addends;
    std::vector<Operand> loads_made, sums_made;
    std::vector<std::pair<std::string, Expr>> named;  // bindings, in order
    std::map<int, Expr> value_of;                     // by binding
    std::map<int, Expr> scalar_parameters;            // by number: Halide wants one parameter a name
    std::map<int, Expr> elements;                     // of out that are read, by position among the stores

    const Halide::Parameter &parameter(std::vector<Operand> &, const char *name, int number, const Type &, int dimensions,
                                       int slots, int slot);
    Expr load_access(int k, const std::vector<Expr> &indices, int slot);
    Expr scalar(int number, const Type &);
    Expr compute(int binding);

public:
    Halide::Func out;
    std::vector<Expr> here;    // the loops' indices of the element that the kernel computes, row-major
    std::vector<int> scalars;  // used, of Body::scalars
    size_t outputs;            // of out: the stage's stores, and more of a kernel that stores to peers

    KernelBody(const Lowering &l, const Stage &s, const AddendSource &addends, const Halide::Func &out)
        : l(l), s(s), addends(addends), out(out), outputs(s.body.stored.size()) {}
    // The value of a binding at `here`. A reduction over loops is not computed here: set() says what it is.
    Expr value(int binding);
    void set(int binding, const Expr &e) { value_of[binding] = e; }
    // An expression of the body at given indices of the loops; loads from ranks have parameter `slot`.
    Expr expression(const Expr &, const std::vector<Expr> &indices, int slot = 0);
    // e within the names that stand for bindings; strict, so that every schedule rounds alike.
    Expr finish(const Expr &e) const;
    Expr out_element(int position) const;
    std::vector<Expr> elements_read() const;
    // Scalars, loads, sums, in the plan's order.
    void append_arguments(KernelArguments &) const;
    std::vector<int> loads() const;
    std::vector<int> sums() const;
};

}  // namespace stretto
