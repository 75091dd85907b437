// What a kernel's own checks said. Halide's runtime, where an application links it, prints and aborts by default.
#pragma once
#include <string>

#include "collectives/plan/validate.h"

namespace stretto::runtime {

// Within this object's life errors of kernels called by this thread are kept; those of other threads go where they went.
class KeepKernelErrors {
public:
    KeepKernelErrors();
    ~KeepKernelErrors();
};

// The text since the last call in this thread, "" if none.
std::string take_kernel_error();

// Halide's text in the terms of the program: it says "buffer x_in0" for x, as kernels have several views of it
// (lower/kernel_body.cpp), and counts dimensions from the innermost.
std::string in_program_terms(const plan::PlanT &plan, std::string text);

}  // namespace stretto::runtime
