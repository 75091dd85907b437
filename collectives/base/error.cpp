#include "collectives/base/error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace stretto::runtime {
namespace {

thread_local std::string last_text;

}  // namespace

int set_error(int status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = nullptr;  // built aside: the arguments may point into the last text, which gets a prefix
    const int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    last_text.assign(length < 0 ? "" : text);
    if (length >= 0) free(text);
    return status;
}

int set_error_text(int status, const std::string &text) {
    last_text = text;
    return status;
}

int set_system_error(const char *what) {
    int code = errno;
    return set_error(STRETTO_SYSTEM, "%s: %s", what, strerror(code));
}

const char *last_error() { return last_text.c_str(); }

}  // namespace stretto::runtime

extern "C" const char *stretto_last_error(void) { return stretto::runtime::last_error(); }

extern "C" const char *stretto_status_name(int status) {
    static const char *const by_negated_status[] = {
        "STRETTO_OK", "STRETTO_INVALID", "STRETTO_MISMATCH", "STRETTO_TIMEOUT", "STRETTO_PEER_LOST",
        "STRETTO_PEER_STUCK", "STRETTO_BUSY", "STRETTO_FORKED", "STRETTO_REQUIRE", "STRETTO_BAD_PLAN",
        "STRETTO_NO_MEMORY", "STRETTO_SYSTEM", "STRETTO_KERNEL"};
    static_assert(std::size(by_negated_status) == 1 - STRETTO_KERNEL);
    return status <= STRETTO_OK && status >= STRETTO_KERNEL ? by_negated_status[-status] : "unknown stretto_status";
}
