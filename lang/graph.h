// The graph: what a program computes, as immutable data that a schedule copies and verbs rewrite. Nodes are in a topological
// order; inside they are known by id only.
#pragma once
#include <map>
#include <variant>
#include "lang/access.h"
#include "lang/layout.h"

namespace stretto {

using ArgumentId = int;

// An extent: a constant, Graph::sizes[value], or the number of ranks.
struct Dim {
    enum Kind { Constant,
                Size,
                Ranks } kind = Constant;
    int64_t value = 0;
    bool operator==(const Dim &o) const {
        return kind == o.kind && value == o.value;
    }
    bool operator!=(const Dim &o) const {
        return !(*this == o);
    }
};
using Dims = std::vector<Dim>;
using Names = std::vector<std::string>;

// ---- what a node does with its value. `value` is an expression over vars (and rvars).
struct ArgumentValue {
    ArgumentId argument;
};
// t(vars) = value. slice >= 0: computed on slices of that dimension although every operand is whole (slice_of).
struct Map {
    int slice = -1;
};
// t(vars) = op over rvars of value; free indices are left. Sequential in rvars, the last one fastest, from the identity
// (+0); of a float product under Sum: a chain of fma(a, b, accumulator). Max and Min are order-free.
struct Reduction {
    ReduceOp op;
    bool any_order = false;
};
// The partial result t(block) over block `block` of rvars[split] (of as many blocks as there are ranks) and all of the other
// rvars. Within a block 64 accumulators by offset along the last rvar (see reference.h for the order). vars = {"block"}.
// slice: as in Map (0 when the blocks are computed by their owners although the operand is whole).
struct Blocks {
    ReduceOp op;
    int split = 0;
    bool any_order = false;
    int slice = -1;
};
// t() = op over blocks 0..ranks-1, in order, of value (an access of a Blocks node at rvars = {"block"}).
struct Fold {
    ReduceOp op;
};
// The reduction over ranks, in rank order, of value, each addend cast to `accumulator` first, the result to the node's type.
enum class Algorithm { Auto,
                       OneShot,
                       TwoPhase };
struct AllReduce {
    ReduceOp op = Sum;  // set by inference from the operand's layout
    Type accumulator;
    Algorithm algorithm = Algorithm::Auto;
};
struct ReduceScatter {
    ReduceOp op = Sum;
    Type accumulator;
    int dim = 0;
};
struct AllGather {
    int dim = 0;
};
// The value on rank `root`, everywhere.
struct Broadcast {
    int root = 0;
};
using Op = std::variant<ArgumentValue, Map, Reduction, Blocks, Fold, AllReduce, ReduceScatter, AllGather, Broadcast>;

// What verbs attach to a node for lowering; no effect on values.
struct Directives {
    int group = -1;     // of fuse; -1: none
    int vectorize = 0;  // lanes; 0: the target's natural width
    bool last = false;  // computed after everything before it in the program
};

struct Node {
    NodeId id = -1;
    std::string name;  // the user's, or `gsum.rs`, `un.blocks`
    Op op;
    Type type;
    Dims dims;          // row-major: dims[0] is the slowest
    Names vars, rvars;  // indices of the left side, and reduced ones
    Dims rdims;         // extents of rvars
    Expr source;        // as the user wrote it, for people
    Expr value;         // with functions expanded and plan scalars taken out, for machines; of the same type as `type` but
                        // for communications with an accumulator
    Layout layout;      // declared for arguments, else inferred
    Directives directives;

    template <class T>
    const T *as() const {
        return std::get_if<T>(&op);
    }
    template <class T>
    T *as() {
        return std::get_if<T>(&op);
    }
    bool is_argument() const {
        return as<ArgumentValue>();
    }
    bool is_communication() const {
        return as<AllReduce>() || as<ReduceScatter>() || as<AllGather>() || as<Broadcast>();
    }
};

enum class Access { Input,
                    InOut,
                    Output };

// Arguments and nodes are separate namespaces. A tensor argument that is read (Input, InOut) has a node of its own with the
// value at entry.
struct Argument {
    std::string name;
    Access access = Access::Input;
    bool scalar = false;
    Type type;
    Dims dims;
    Layout layout;     // what the caller passes
    NodeId node = -1;  // the value at entry; -1 for scalars and Outputs
    bool has_range = false;
    double low = 0, high = 0;  // of .range(low, high): where --check and random tests draw from
};

// The value that argument has after the call: Output and update alike.
struct Result {
    ArgumentId argument;
    NodeId node;
};

struct Requirement {
    Expr condition;  // over scalars, sizes, ranks(); boolean
    std::string text;
};

struct Graph {
    std::string program;
    Names sizes;
    std::vector<Argument> arguments;
    std::vector<Node> nodes;
    std::vector<Result> results;
    std::vector<Expr> scalars;  // plan scalars, each evaluated once a call in its own type
    std::vector<Requirement> requirements;
    int next_id = 0, next_group = 0;

    const Node &at(NodeId) const;
    Node &at(NodeId);
    // At the edge only, for names that people wrote; null if there is none.
    const Node *find(const std::string &name) const;
    const Argument *find_argument(const std::string &name) const;

    std::vector<NodeId> reads(NodeId id) const {
        return nodes_read(at(id).value);
    }
    std::vector<NodeId> readers(NodeId) const;
    bool is_result(NodeId) const;

    // Adds a node at the end with a fresh id.
    Node &add(Node);
    // t's node with value = operand(vars) and the operand's name plus suffix, not yet inferred.
    Node communication(const std::string &name, Op, const Node &operand) const;
    // In every node for which `who` holds (default: all), reads of `from` become reads of `to`.
    void redirect_reads(NodeId from, NodeId to, const std::function<bool(const Node &)> &who = {});
    void redirect_results(NodeId from, NodeId to);

    // Topological order, as near to the present one as possible, without nodes that no result needs (argument nodes stay).
    void tidy();
};

// "n", "16", "ranks()"
std::string to_string(const Graph &, const Dim &);
std::string to_string(const Graph &, const Dims &);  // "n, m"

}  // namespace stretto
