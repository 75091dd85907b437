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

// Keeps a text as a kernel's, for kernels that report to a runtime of their own (the JIT's).
void keep_kernel_error(const char *text);

// Halide's text in the terms of the program: it says "buffer load3" for what the stage's access 3 reads, or load3_1 for rank
// 1's part of it (lower/kernel_body.cpp), and counts dimensions from the innermost.
std::string in_program_terms(const plan::PlanT &plan, const plan::StageT &stage, std::string text);

}  // namespace stretto::runtime
