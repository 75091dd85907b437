// What a kernel's own checks said. Halide's runtime, where an application links it, prints and aborts by default.
#pragma once
#include <string>

namespace stretto::runtime {

// Within this object's life errors of kernels called by this thread are kept; those of other threads go where they went.
class KeepKernelErrors {
public:
    KeepKernelErrors();
    ~KeepKernelErrors();
};

// The text since the last call in this thread, "" if none.
std::string take_kernel_error();

}  // namespace stretto::runtime
