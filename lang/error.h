// The error of the compiler half: language, schedules, lowering. What was written, why it is refused, every legal alternative.
#pragma once
#include <stdexcept>
#include <string>

namespace stretto {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What Halide finds wrong in an expression is an Error, thrown where that is written: in every program that has the language.
bool report_errors_in_expressions();
inline const bool errors_in_expressions_are_reported = report_errors_in_expressions();

}  // namespace stretto
