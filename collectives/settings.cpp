#include "settings.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "error.h"

namespace stretto::runtime {

int read_settings(Settings *settings) {
    if (const char *text = getenv("STRETTO_TIMEOUT")) {
        char *end = nullptr;
        double value = strtod(text, &end);
        if (end == text || *end || !std::isfinite(value) || value <= 0) {
            return set_error(STRETTO_INVALID, "STRETTO_TIMEOUT=%s: a positive number of seconds is needed, such as 300 or 0.5",
                             text);
        }
        settings->timeout = value;
    }
    if (const char *text = getenv("STRETTO_TEST_EPOCH")) {
        char *end = nullptr;
        errno = 0;
        unsigned long long value = strtoull(text, &end, 10);
        if (end == text || *end || errno || value > UINT32_MAX) {
            return set_error(STRETTO_INVALID, "STRETTO_TEST_EPOCH=%s: a 32-bit unsigned number is needed", text);
        }
        settings->first_epoch = uint32_t(value);
    }
    return STRETTO_OK;
}

}  // namespace stretto::runtime
