// Ends a test program that cannot run here. ctest shows it as skipped, and `./run test` prints the reason.
#pragma once
#include <cstdio>
#include <cstdlib>

namespace stretto::test {

[[noreturn]] inline void skip(const char *test, const char *reason) {
    std::printf("%s: skipped: %s\n", test, reason);
    const char *path = std::getenv("STRETTO_SKIP_LOG");
    if (FILE *log = path ? std::fopen(path, "a") : nullptr) {
        std::fprintf(log, "%s: skipped: %s\n", test, reason);
        std::fclose(log);
    }
    std::fflush(stdout);
    std::_Exit(77);
}

}  // namespace stretto::test
