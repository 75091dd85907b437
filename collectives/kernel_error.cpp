#include "kernel_error.h"

#include <mutex>

extern "C" {
// Defined where the application links Halide's runtime, null where it does not (kernels of the JIT have one of their own).
typedef void (*halide_error_function)(void *, const char *);
__attribute__((weak)) halide_error_function halide_set_error_handler(halide_error_function);
}

namespace stretto::runtime {
namespace {

thread_local int keeping = 0;
thread_local std::string kept;
halide_error_function previous = nullptr;

void on_error(void *context, const char *text) {
    if (keeping) kept = text ? text : "";
    else if (previous) previous(context, text);
}

}  // namespace

KeepKernelErrors::KeepKernelErrors() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (halide_set_error_handler) previous = halide_set_error_handler(on_error);
    });
    keeping++;
}

KeepKernelErrors::~KeepKernelErrors() { keeping--; }

std::string take_kernel_error() {
    std::string text;
    text.swap(kept);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

}  // namespace stretto::runtime
