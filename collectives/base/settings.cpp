#include "collectives/base/settings.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "collectives/base/error.h"

namespace stretto::runtime {

namespace {

int read_number(const char *name, uint64_t least, uint64_t most, const char *what, uint64_t *result) {
    const char *text = getenv(name);
    if (!text) return STRETTO_OK;
    char *end = nullptr;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most) {
        return set_error(STRETTO_INVALID, "%s=%s: %s is needed", name, text, what);
    }
    *result = value;
    return STRETTO_OK;
}

}  // namespace

int read_settings(Settings *settings) {
    if (const char *text = getenv("STRETTO_TIMEOUT")) {
        char *end = nullptr;
        double value = strtod(text, &end);
        if (end == text || *end || !std::isfinite(value) || value <= 0) {
            return set_error(STRETTO_INVALID,
                             "STRETTO_TIMEOUT=%s: a positive number of seconds is needed, such as 300 or 0.5", text);
        }
        settings->timeout = value;
    }
    const char *heap = getenv("STRETTO_REQUIRE_HEAP");
    if (heap && strcmp(heap, "0") != 0 && strcmp(heap, "1") != 0)
        return set_error(STRETTO_INVALID, "STRETTO_REQUIRE_HEAP=%s: 0 or 1 is needed", heap);
    uint64_t epoch = 0;
    if (int status = read_number("STRETTO_TEST_EPOCH", 0, UINT32_MAX, "a 32-bit unsigned number", &epoch))
        return status;
    settings->first_epoch = uint32_t(epoch);
    return read_number("STRETTO_TEST_PIECE", 4096, uint64_t(1) << 30, "a number of bytes from 4096 to 1 GiB",
                       &settings->largest_piece);
}

bool heap_required() {
    static const bool required = [] {
        const char *value = getenv("STRETTO_REQUIRE_HEAP");
        return value && strcmp(value, "1") == 0;
    }();
    return required;
}

}  // namespace stretto::runtime
