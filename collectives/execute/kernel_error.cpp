#include "collectives/execute/kernel_error.h"

#include <cctype>
#include <cstdlib>
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

size_t end_of_digits(const std::string &text, size_t at) {
    while (at < text.size() && isdigit(static_cast<unsigned char>(text[at]))) at++;
    return at;
}

void on_error(void *context, const char *text) {
    if (keeping) keep_kernel_error(text);
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

void keep_kernel_error(const char *text) { kept = text ? text : ""; }

std::string in_program_terms(const plan::PlanT &plan, const plan::StageT &stage, std::string text) {
    const std::string load = "buffer load", dimension = " in dimension ";
    size_t at = text.find(load);
    if (at == std::string::npos) return text;
    size_t end = end_of_digits(text, at + load.size());
    const size_t access = size_t(atol(text.c_str() + at + load.size()));
    if (end == at + load.size() || access >= stage.accesses.size()) return text;
    if (text.compare(end, 1, "_") == 0) end = end_of_digits(text, end + 1);
    auto &buffer = *plan.buffers[size_t(stage.accesses[access]->buffer)];
    text.replace(at, end - at, "buffer " + buffer.name);
    if ((at = text.find(dimension)) == std::string::npos) return text;
    at += dimension.size();
    end = end_of_digits(text, at);
    const long innermost = long(buffer.extents.size()) - 1, d = atol(text.c_str() + at);
    if (end > at && d <= innermost) text.replace(at, end - at, std::to_string(innermost - d));
    return text;
}

}  // namespace stretto::runtime
