// The graph: what a program computes, as immutable data that a schedule copies and verbs rewrite. Nodes are in a topological
// order; inside they are known by id only.
#pragma once
#include <map>
#include <optional>
#include <variant>
#include "lang/access.h"
#include "lang/layout.h"

namespace stretto {

using ArgumentId = int;

// An extent: a constant, Graph::sizes[value], the number of ranks; unknown until inference finds it.
struct Dim {
    enum Kind { Unknown,
                Constant,
                Size,
                Ranks } kind = Unknown;
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

// An index that a node runs over: a dimension of its value, or a reduced one.
struct Index {
    std::string name;
    Dim extent{};
    Axes axes{};  // that slice it; empty: the rank runs over all of it. Of an all-gather: where it is computed
    bool reduced = false;
};

// Whose memory the elements that a node reads come from: this rank's own; of every rank along the axes, in order (for a
// reduction over them); of rank `value`; of rank own + `value`, where there is none of the one at the other end (cyclic) or
// this rank's own; of the rank that owns the element in dimension `dim`.
struct From {
    enum Kind { Own,
                Each,
                Rank,
                Shift,
                Owner } kind = Own;
    Axes axes;
    int value = 0, dim = -1;
    bool cyclic = false;
};

// ---- what a node does with its value. `value` is an expression over the domain.
struct ArgumentValue {
    ArgumentId argument;
};
// t(vars) = value. slice >= 0: computed on slices of that dimension although every operand is whole (slice_of).
struct Map {
    int slice = -1;
};
// t(vars) = op over rvars of value; free indices are left. In the order that order.h finds.
struct Reduction {
    ReduceOp op;
    bool any_order = false;
};
// The partial result t(block) over block `block` of rvars[split] (of as many blocks as there are ranks) and all of the other
// rvars, by lanes (order.h).
// slice: as in Map (0 when the blocks are computed by their owners although the operand is whole).
struct Blocks {
    ReduceOp op;
    int split = 0;
    bool any_order = false;
    int slice = -1;
};
// t() = op over blocks 0..ranks-1, in order, of value (an access of a Blocks node at the reduced index).
struct Fold {
    ReduceOp op;
};
enum class Algorithm { Auto,
                       OneShot,
                       TwoPhase };
// t(vars) = the element of `from`, or the reduction of the elements of all its ranks, in rank order: each addend cast to
// the node's accumulator first, the result to the node's type. Of the result each rank has its slice of to_dim, or all.
//   all_reduce: Each, op.   reduce_scatter: Each, op, to_dim.   all_gather: Owner.   broadcast: Rank.   shift: Shift
struct Communication {
    From from;
    std::optional<ReduceOp> reduce{};  // which one inference takes from the operand's layout
    std::optional<int> to_dim{};
    Algorithm algorithm = Algorithm::Auto;
    Expr outside{};       // of Shift: the value where there is no such rank, undefined if it is the own element
    bool pushes = false;  // of Shift: stored to the rank that it goes to, by the sweep that computes the operand
};
using Op = std::variant<ArgumentValue, Map, Reduction, Blocks, Fold, Communication>;

// What a node is to the program: a tensor of the user's, or made from one by the language, a verb or a pass.
enum class Role { Own,
                  ReduceScatter,  // of an all-reduce that was split
                  AllGather,      // of a slice
                  Inner,          // a reduction inside the definition of a tensor
                  Blocks,         // the block results of a full reduction
                  NewValue,       // of an argument, when it has no name of its own
                  Addend };       // of a reduction over ranks, stored before it is loaded
struct Origin {
    Role role = Role::Own;
    NodeId of = -1;   // a node that there is, or was; -1: none
    int ordinal = 0;  // of Inner: from 0; of NewValue: the argument
};

// What verbs attach to a node for lowering; no effect on values.
struct Directives {
    int group = -1;     // of fuse; -1: none
    int vectorize = 0;  // lanes; 0: the target's natural width
};

struct Node {
    NodeId id = -1;
    Origin origin;
    std::string name;  // for people: the user's, or made by Graph::add from the origin: `gsum.rs`, `un.blocks`
    Op op;
    Type type;
    Type accumulator;           // in which a reduction adds up
    std::vector<Index> domain;  // free indices, row-major (the first is the slowest), then reduced ones in order
    Expr source;                // as the user wrote it, for people
    Expr value;                 // with functions expanded and plan scalars taken out, for machines; of the same type as `type`
                                // but for communications with an accumulator
    Layout layout;              // declared for arguments, else inferred
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
        return as<Communication>();
    }
    // Loads every rank's addend, one rank's value; stores to every rank.
    bool reduces_over_ranks() const;
    bool is_all_reduce() const;  // of which every rank gets all
    bool is_shift() const;
    bool loads_from_ranks() const;
    bool stores_to_ranks() const;
    // Of Reduction, Blocks, Fold, and Communication with a reduction.
    ReduceOp reduce_op() const;

    // Parts of the domain: of the value's dimensions, and of what is reduced.
    size_t dimensions() const;
    Names vars() const, rvars() const;
    Dims dims() const;
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
    Expr condition;  // over scalars, sizes, ranks(); boolean; functions in it are not expanded
    std::string text;
};

struct Graph {
    std::string program;
    Names sizes;
    std::vector<Argument> arguments;
    std::vector<Node> nodes;
    std::vector<Result> results;
    std::vector<Expr> scalars;  // plan scalars, each evaluated once a call in its own type; functions in them are not expanded
    std::vector<Requirement> requirements;
    int next_group = 0;
    // Of every node that there is or was, by id: verbs and messages speak of both.
    struct Identity {
        std::string name;
        Origin origin;
    };
    std::vector<Identity> identities;
    std::map<NodeId, NodeId> became;  // by the verbs: what a node that went is now

    const Node &at(NodeId) const;
    Node &at(NodeId);
    bool has(NodeId) const;
    // At the edge only, for names that people wrote: what the node of this name is now; null if there is none.
    const Node *find(const std::string &name) const;
    const Argument *find_argument(const std::string &name) const;

    std::vector<NodeId> reads(NodeId id) const {
        return nodes_read(at(id).value);
    }
    std::vector<NodeId> readers(NodeId) const;
    bool is_result(NodeId) const;

    // The node that `id` is now, -1 if none.
    NodeId current(NodeId id) const;
    // The node that there is with this origin, -1 if none.
    NodeId made(Role, NodeId of) const;

    // What a node is called: its own name, or one that is made here from its origin.
    std::string name_from(const Node &) const;
    // An id for a node that is added later, which others may already originate from.
    NodeId reserve(const std::string &name, const Origin & = {});
    // Adds a node at the end: with its id if that was reserved, else with a fresh one; its name follows from its origin.
    Node &add(Node);
    // A node with value = operand(vars), not yet inferred.
    Node communication(const Origin &, const Communication &, const Node &operand) const;
    // In these nodes reads of `from` become reads of `to`.
    void redirect_reads(NodeId from, NodeId to, const std::vector<NodeId> &readers);
    void redirect_results(NodeId from, NodeId to);

    // Topological order, as near to the present one as possible, without nodes that no result needs (argument nodes stay).
    void tidy();

private:
    int position(NodeId) const;          // in nodes, -1 if it is not there
    mutable std::vector<int> positions;  // by id, as they were when last asked for
};

// Does e use rank(), in a plan scalar too?
bool differs_between_ranks(const Graph &, const Expr &e);

// "n", "16", "ranks()"
std::string to_string(const Graph &, const Dim &);
std::string to_string(const Graph &, const Dims &);  // "n, m"

}  // namespace stretto
