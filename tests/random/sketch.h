// A program as data: what a user writes, statement by statement. Tests change one thing of it and write it again, through the
// functions of the language alone.
#pragma once
#include <optional>
#include "lang/program.h"

namespace stretto {

class Writer;

// Thrown for what would end the process in Halide 21: an Expr without a value in select, && and ||.
struct NotWritten {};

struct Sketch {
    // Of the program's own, or an argument.
    struct Named {
        std::string name;
        bool declared = false;
        Type type;
        std::vector<Extent> extents;
        Layout layout;
    };
    struct Argument {
        Access access = Access::Input;
        int tensor = -1;           // in tensors; -1: a scalar
        std::string name;          // of a scalar
        Type type;                 // likewise
        std::vector<int> updates;  // of an InOut: tensors that are its new value, of which one is legal
        std::pair<double, double> range{0, 0};
    };
    // tensor(left) = value, or tensor = verb(operand, ...).
    struct Statement {
        int tensor = -1;
        std::vector<Expr> left;
        Expr value;  // reads tensors by access(tensor, type, indices)
        std::string verb;
        int operand = -1, number = 0;  // number: dimension, root or distance
        Type type;                     // of the result of a reduction over ranks
        Edge edge;
    };
    std::vector<Named> tensors;
    std::vector<Argument> arguments;
    std::vector<Statement> statements;  // in the order in which they are written
    std::vector<int> listed;            // arguments in the order in which the program lists them
    std::vector<Requirement> requirements;
    // Is written in place of this part of a value.
    Expr site;
    std::function<Expr(Writer &, const Expr &site)> instead;
};

// What these arguments' definitions say. Anonymous tensors are written out.
Sketch sketch_of(const std::vector<ArgumentRef> &);

// Throws what the language throws.
Program write(const Sketch &, const std::string &name);

// Writes expressions of a sketch: operators and functions are applied anew, so operands may have got other types.
class Writer : public Halide::Internal::IRGraphMutator {
    const Sketch &sketch;
    std::vector<Tensor> tensors;
    std::vector<ArgumentRef> arguments;
    std::map<int, InOut<Tensor>> in_outs;  // by tensor
    Expr changed;                          // what was written in place of the site
    bool is_changed = false, writing = false;

    using IRGraphMutator::visit;
#define STRETTO_WRITES(NODE) Expr visit(const Halide::Internal::NODE *) override;
    STRETTO_WRITES(Add)
    STRETTO_WRITES(Sub)
    STRETTO_WRITES(Mul)
    STRETTO_WRITES(Div)
    STRETTO_WRITES(Mod)
    STRETTO_WRITES(Max)
    STRETTO_WRITES(Min)
    STRETTO_WRITES(LT)
    STRETTO_WRITES(LE)
    STRETTO_WRITES(GT)
    STRETTO_WRITES(GE)
    STRETTO_WRITES(EQ)
    STRETTO_WRITES(NE)
    STRETTO_WRITES(And)
    STRETTO_WRITES(Or)
    STRETTO_WRITES(Not)
    STRETTO_WRITES(Select)
    STRETTO_WRITES(Cast)
    STRETTO_WRITES(Variable)
    STRETTO_WRITES(Call)
#undef STRETTO_WRITES

    Expr operand(const Expr &);  // throws NotWritten
    void declare();
    void state(const Sketch::Statement &);

public:
    explicit Writer(const Sketch &sketch) : sketch(sketch) {}
    Expr mutate(const Expr &) override;
    using IRGraphMutator::mutate;
    // As it is without a change.
    Expr as_it_is(const Expr &) const;
    Expr read(int tensor, const std::vector<Expr> &at) const { return TensorRef(tensors.at(size_t(tensor)).definition(), at); }
    const Tensor &tensor(int k) const { return tensors.at(size_t(k)); }
    Program program(const std::string &name);
};

}  // namespace stretto
