// The body of one kernel: expressions of the graph become Halide expressions over the kernel's parameters.
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

class KernelBody {
    struct LoadParameter {
        plan::Load load;
        std::vector<Halide::Parameter> slots;  // one a rank for Each loads of a direct kernel, else one
    };
    const Lowering &l;
    const Stage &s;
    AddendSource addends;
    std::vector<LoadParameter> loads_made;
    std::vector<std::pair<std::string, Expr>> bound;  // values of nodes of this stage, in order
    std::map<NodeId, Expr> value_of;
    std::map<int, Expr> scalar_parameters;  // by number: Halide wants one parameter a name
    std::map<int, Expr> elements;           // of out that are read, by position among the stores

    const Halide::Parameter &parameter(const plan::Load &, const Type &, int dimensions, int slot);
    Expr load_own(const Node &, const std::vector<Expr> &indices);
    bool is_here(const std::vector<Expr> &indices) const;
    Expr compute(const Node &);
    int known_ranks() const;  // those that a direct kernel is for, 0 for others

public:
    Halide::Func out;
    std::vector<Expr> here;    // the index of the element that the kernel computes, row-major
    std::vector<int> scalars;  // plan scalars used
    size_t outputs;            // of out: the stage's stores, and more of a kernel that stores to peers

    KernelBody(const Lowering &l, const Stage &s, const AddendSource &addends, const Halide::Func &out)
        : l(l), s(s), addends(addends), out(out), outputs(s.stores.size()) {
    }
    // Plan scalar `number` as a parameter.
    Expr scalar(int number);
    // The value at `here` of a node of this stage.
    Expr value(NodeId);
    // n's expression with vars and rvars replaced by indices. From Each: what the rank of parameter `slot` holds.
    Expr expression(const Node &n, const std::vector<Expr> &indices, plan::From from = plan::From::Own, int slot = 0);
    // The addend of the reduction over ranks n in the accumulator type, from parameter `slot`.
    Expr addend(const Node &n, int slot);
    // e within the names that stand for other nodes' values; strict, so that every schedule rounds alike.
    Expr finish(const Expr &e) const;
    Expr out_element(int position) const;
    std::vector<Expr> elements_read() const;
    // Scalars, then loads, in the plan's order.
    void append_arguments(KernelArguments &) const;
    std::vector<plan::Load> loads() const;
};

}  // namespace stretto
