// Layout inference (the table of the language reference), in an expression: which layout it has, given those of the nodes
// that it reads; and the errors of both, which name an operand, its layout and the communication that would make it legal.
#pragma once
#include "lang/graph.h"

namespace stretto {

enum class LayoutKind { Replicated,
                        Sliced,
                        Partial,
                        Local };
LayoutKind kind_of(const Layout &);

// An expression and its layout: a slice is named by its index variable.
struct Operand {
    LayoutKind kind = LayoutKind::Replicated;
    ReduceOp op = Sum;     // of Partial
    std::string var = {};  // of Sliced
    Expr e = {};
    bool is(LayoutKind k) const { return kind == k; }
};

// all_reduce(t), all_gather(t), broadcast(t, root): what makes the whole value of t on every rank; "" if t is that.
std::string made_whole(LayoutKind, const std::string &t);

class ExpressionLayout {
protected:
    const Graph &g;
    const Node &n;

    // In program p: cannot define t(i) = x(i).
    //   <why>
    // Legal: <legal>
    [[noreturn]] void fail(const std::string &why, const std::string &legal) const;

    // The parts of a message about the first read in an operand that has its layout, or else all of it:
    std::string text(const Operand &) const;          // x(i) is partial(Sum)
    std::string reduce_first(const Operand &) const;  // reduce it first: all_reduce(x), or reduce_scatter(x, dim)
    // all_gather(x); with more arguments: broadcast(x, root)
    std::string applied(const std::string &verb, const Operand &, const std::string &more = "") const;
    std::string made_whole(const Operand &) const;
    std::string read_name(const Operand &) const;  // x, "" if there is no such read

public:
    // Of expressions in the definition of n.
    ExpressionLayout(const Graph &g, const Node &n) : g(g), n(n) {}
    // Throws Error.
    Operand operator()(const Expr &);

private:
    std::map<const Halide::Internal::IRNode *, Operand> known;  // of each part, however often it is used
    std::vector<Expr> kept;                                     // that `known` points to

    const Halide::Internal::Call *culprit(const Operand &) const;
    [[noreturn]] void mixed(const std::string &operation, const Operand &a, const Operand &b) const;
    Operand settled(const Expr &, const std::string &what);
    Operand join(const Operand &a, const Operand &b, const std::string &operation) const;
    Operand joined(const std::vector<Expr> &, const std::string &what);
    Operand sum(const Expr &a, const Expr &b, bool subtract);
    Operand product(const Halide::Internal::Mul *);
    Operand quotient(const Halide::Internal::Div *);
    Operand extremum(const Expr &a, const Expr &b, ReduceOp);
    Operand selection(const Halide::Internal::Select *);
    Operand conversion(const Halide::Internal::Cast *);
    Operand read(const Halide::Internal::Call *);
    Operand layout_of(const Expr &);
};

}  // namespace stretto
