// The rules of verify.h that hold of a stage by itself: of its body and its accesses.
#pragma once
#include <stdexcept>
#include "lower/lowering.h"

namespace stretto {

// The first broken rule: "RULE: where and why".
struct Fault : std::runtime_error {
    Fault(const std::string &rule, const std::string &text) : std::runtime_error(rule + ": " + text) {}
};

// Throws a Fault that says `stage <number>`. before: the sweep in which it may ride, or null.
void verify_stage(const Lowering &, const Stage &, const Stage *before, int number);

}  // namespace stretto
