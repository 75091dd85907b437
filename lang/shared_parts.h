// Expressions are graphs: a part may be used many times. What walks them as trees (Halide's passes do) would take time
// that doubles with each use; so parts that are used more than once get a name.
#pragma once
#include <map>
#include <set>
#include "lang/access.h"

namespace stretto {

// What each part of an expression holds, each found once.
class Holdings {
public:
    struct Holding {
        bool index = false, symbol = false;  // an index or a read; anything but constants
        std::set<std::string> lets;          // names of a Let around it
        // The same at every element: to be computed once a call.
        bool is_scalar() const {
            return !index && lets.empty();
        }
    };
    const Holding &of(const Expr &);

private:
    std::map<Expr, Holding, Halide::ExprCompare> known;
};

// The parts of e itself.
std::vector<Expr> operands(const Expr &e);

// A name that no other Let of the program has: let.<number>, in order of appearance, so that a program's text is the same
// in every run.
std::string new_let();
void number_lets_from_zero();
// Halide's own expansions bind names from a process-wide counter, and bring them again where they are used again: each Let
// gets a name of its own.
Expr rename_lets(const Expr &);

// All Lets around the whole, and a Let for each part that is used more than once, but for scalars, reads and what is shorter
// than its name. Of a product each factor keeps its own, so that it stays a product.
//   (x(i) + 1) * (x(i) + 1) + 2   ->   let let.0 = x(i) + 1 in let.0 * let.0 + 2
Expr bind_shared(const Expr &);

}  // namespace stretto
