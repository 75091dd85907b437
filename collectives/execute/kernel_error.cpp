#include "collectives/execute/kernel_error.h"

#include <algorithm>
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

// The end of a view's number at `at`: "0", or "1_2" for a view of one of several ranks; npos if there is none.
size_t end_of_number(const std::string &text, size_t at) {
    size_t end = end_of_digits(text, at);
    if (end == at) return std::string::npos;
    if (end < text.size() && text[end] == '_' && end_of_digits(text, end + 1) > end + 1)
        end = end_of_digits(text, end + 1);
    return end == text.size() || text[end] == ' ' ? end : std::string::npos;
}

bool name_buffer(const plan::BufferT &buffer, std::string *text) {
    std::string spelled = buffer.name;
    std::replace(spelled.begin(), spelled.end(), '.', '_');
    for (const char *view : {"_in", "_of_rank"}) {
        std::string before = "buffer " + spelled + view;
        size_t at = text->find(before);
        if (at == std::string::npos) continue;
        size_t end = end_of_number(*text, at + before.size());
        if (end == std::string::npos) continue;
        text->replace(at, end - at, "buffer " + buffer.name);
        const std::string dimension = " in dimension ";
        if ((at = text->find(dimension)) == std::string::npos) return true;
        at += dimension.size();
        end = end_of_digits(*text, at);
        const long innermost = long(buffer.extents.size()) - 1, d = atol(text->c_str() + at);
        if (end > at && d <= innermost) text->replace(at, end - at, std::to_string(innermost - d));
        return true;
    }
    return false;
}

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

std::string in_program_terms(const plan::PlanT &plan, std::string text) {
    for (auto &buffer : plan.buffers)
        if (name_buffer(*buffer, &text)) break;
    return text;
}

}  // namespace stretto::runtime
