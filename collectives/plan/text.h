// printf to a string, for the texts of errors.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <string>

namespace stretto::plan {

// At most 511 bytes; what is longer is cut.
inline std::string text_of(const char *format, va_list values) {
    char line[512];
    vsnprintf(line, sizeof line, format, values);
    return line;
}

__attribute__((format(printf, 1, 2))) inline std::string text(const char *format, ...) {
    va_list values;
    va_start(values, format);
    std::string line = text_of(format, values);
    va_end(values);
    return line;
}

}  // namespace stretto::plan
