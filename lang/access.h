// What stands inside the expressions of a graph: reads of nodes, scalar arguments, sizes, plan scalars, ranks. Everything
// that walks or rewrites expressions goes through these functions. They see the graph that an expression is, not the tree:
// a part that is used many times is visited, and rewritten, once.
#pragma once
#include <functional>
#include "lang/types.h"

namespace stretto {

using NodeId = int;

// A read of node `id` at indices (row-major: the last index varies fastest).
Expr access(NodeId id, const Type &, const std::vector<Expr> &indices);
// The call if e is an access, else null.
const Halide::Internal::Call *as_access(const Expr &e);
NodeId accessed(const Halide::Internal::Call *);
std::vector<Expr> indices_of(const Halide::Internal::Call *);

// Calls f for every part of e, e itself too: each once, operands before users.
void for_each_part(const Expr &e, const std::function<void(const Expr &)> &f);
// The same for calls, and for accesses.
void for_each_call(const Expr &e, const std::function<void(const Halide::Internal::Call *)> &f);
void for_each_access(const Expr &e, const std::function<void(const Halide::Internal::Call *)> &f);
// Rewrites calls by f, which gives an undefined Expr for those that stay. Of shared parts once: an object keeps what it made
// of each.
class CallMutator : public Halide::Internal::IRGraphMutator {
    std::function<Expr(const Halide::Internal::Call *, CallMutator &)> f;
    using IRGraphMutator::visit;
    Expr visit(const Halide::Internal::Call *) override;

public:
    explicit CallMutator(std::function<Expr(const Halide::Internal::Call *, CallMutator &)> f) : f(std::move(f)) {}
};
// Rebuilds e with every access replaced by f's result.
Expr map_accesses(const Expr &e, const std::function<Expr(const Halide::Internal::Call *)> &f);
// Every read of `from` becomes a read of `to`, at the same indices.
Expr redirect(const Expr &e, NodeId from, NodeId to);
// The nodes that e reads, each once, in order of first appearance.
std::vector<NodeId> nodes_read(const Expr &e);

// An index variable by name, and its name if e is one, else "".
Expr index(const std::string &name);
std::string bare_index(const Expr &e);
// What index d is called where the user gave it no name: i, j, k, l, then d4, d5, ...
std::string default_index(int d);
std::vector<Expr> index_exprs(const std::vector<std::string> &names);
// Are these the index variables of these names, in order?
bool are_indices(const std::vector<Expr> &, const std::vector<std::string> &names);
// The names of all index variables in e.
std::vector<std::string> indices_used(const Expr &e);
Expr substitute_indices(const Expr &e, const std::vector<std::string> &names, const std::vector<Expr> &values);

// Variables that are not indices. A name holds no '.', so these prefixes cannot clash with an index.
Expr scalar_argument(const Type &, const std::string &name);  // scalar.<name>
Expr size_value(const std::string &name);                     // size.<name>, int64
Expr plan_scalar(const Type &, int number);                   // plan.<number>: Graph::scalars[number]
Expr ranks_value();                                           // world.ranks, int32
Expr rank_value();                                            // world.rank, int32, differs between ranks
// Names bound by a Let inside an expression are let.<number>.

struct Symbol {
    enum Kind { None,
                Index,
                Scalar,
                Size,
                PlanScalar,
                Ranks,
                Rank,
                Let } kind = None;
    std::string name;  // without the prefix
    int number = -1;   // of PlanScalar
};
// What variable e is; None if it is no variable.
Symbol symbol_of(const Expr &e);

// All that e holds but names that are bound in it, each once.
std::vector<Symbol> symbols_in(const Expr &e);

// Does e read a node or use an index? (If not it is a plan scalar or a constant.)
bool has_index(const Expr &e);
// Does e use rank()?
bool uses_rank(const Expr &e);

}  // namespace stretto
