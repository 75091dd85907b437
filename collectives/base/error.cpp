#include "collectives/base/error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace stretto::runtime {
namespace {

std::string &slot() {
    static thread_local std::string text;
    return text;
}

}  // namespace

int set_error(int status, const char *format, ...) {
    // The arguments may point into the slot (a text that gets a prefix), so the new text is built aside.
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(length > 0 ? size_t(length) : 0, '\0');
    if (length > 0) vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    slot() = std::move(text);
    return status;
}

int set_error_text(int status, const std::string &text) {
    slot() = text;
    return status;
}

int set_system_error(const char *what) {
    int code = errno;
    return set_error(STRETTO_SYSTEM, "%s: %s", what, strerror(code));
}

const char *last_error() { return slot().c_str(); }

}  // namespace stretto::runtime

extern "C" const char *stretto_last_error(void) { return stretto::runtime::last_error(); }

extern "C" const char *stretto_status_name(int status) {
    switch (status) {
    case STRETTO_OK: return "STRETTO_OK";
    case STRETTO_INVALID: return "STRETTO_INVALID";
    case STRETTO_MISMATCH: return "STRETTO_MISMATCH";
    case STRETTO_TIMEOUT: return "STRETTO_TIMEOUT";
    case STRETTO_PEER_LOST: return "STRETTO_PEER_LOST";
    case STRETTO_PEER_STUCK: return "STRETTO_PEER_STUCK";
    case STRETTO_BUSY: return "STRETTO_BUSY";
    case STRETTO_FORKED: return "STRETTO_FORKED";
    case STRETTO_REQUIRE: return "STRETTO_REQUIRE";
    case STRETTO_BAD_PLAN: return "STRETTO_BAD_PLAN";
    case STRETTO_NO_MEMORY: return "STRETTO_NO_MEMORY";
    case STRETTO_SYSTEM: return "STRETTO_SYSTEM";
    case STRETTO_KERNEL: return "STRETTO_KERNEL";
    default: return "unknown stretto_status";
    }
}
