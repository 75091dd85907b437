// printf to a string, for the texts of errors.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

namespace stretto::plan {

// At most 511 bytes; what is longer is cut.
__attribute__((format(printf, 1, 2))) inline std::string text(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return line;
}

}  // namespace stretto::plan
