// Golden text files: tests/golden/<name>.txt. With STRETTO_UPDATE_GOLDEN=1 in the environment they are written instead of
// compared; the difference is then git's to show.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stretto::test {

inline void check_golden(const std::string &name, const std::string &text) {
    std::filesystem::path path = std::filesystem::path(__FILE__).parent_path() / "golden" / (name + ".txt");
    const char *update = std::getenv("STRETTO_UPDATE_GOLDEN");
    if (update && std::string(update) == "1") {
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return;
    }
    std::ifstream file(path);
    if (!file) FAIL("no golden file " << path.string() << "; the text is\n"
                                      << text);
    std::stringstream golden;
    golden << file.rdbuf();
    if (golden.str() == text) return;
    std::istringstream a(golden.str()), b(text);
    std::string x, y;
    int line = 1;
    while (std::getline(a, x) && std::getline(b, y) && x == y) line++;
    FAIL_CHECK("line " << line << " differs from " << path.string() << "; the text is now\n"
                       << text << "(STRETTO_UPDATE_GOLDEN=1 accepts it)");
}

}  // namespace stretto::test
