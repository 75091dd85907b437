// What a definition may hold, checked before anything walks through it.
#pragma once
#include "lang/tensor.h"

namespace stretto {

constexpr int most_nested = 5000;  // operations inside each other; every pass walks through them on its stack

// Throws an Error when e, with the anonymous tensors written out in it, is nested deeper than that or holds a value of a type
// that no tensor can have. what: "the definition of t"; program: its name.
void check_expression(const Expr &e, const std::string &what, const std::string &program);

// The same for the type that t is declared with; and when it has too many dimensions.
void check_declared(const Definition &t, const std::string &program);

}  // namespace stretto
