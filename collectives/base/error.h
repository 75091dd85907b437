// The last error of the calling thread: a status for programs, a text for people.
#pragma once
#include <stretto/runtime.h>
#include <stdexcept>
#include <string>

namespace stretto::runtime {

// Remembers a formatted text (what happened, which rank, which operation, values) for stretto_last_error() and returns
// `status`, so that a function can say `return set_error(STRETTO_INVALID, ...)`. Must not be given STRETTO_OK.
int set_error(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same for a text that is complete already.
int set_error_text(int status, const std::string &text);

// "what: Permission denied": the text of a failed system call, from errno.
int set_system_error(const char *what);

const char *last_error();

// Why this rank cannot make a call: thrown before anything is stored, and told to all ranks.
struct Refusal : std::runtime_error {
    explicit Refusal(const std::string &text, int status = STRETTO_INVALID) : runtime_error(text), status(status) {}
    const int status;
};

}  // namespace stretto::runtime
