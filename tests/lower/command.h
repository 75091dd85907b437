// The command line of generators as tests use it: what a line gives, and folders to write to.
#pragma once
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include "lower/generator/command_line.h"

namespace stretto::test {

struct Outcome {
    int status;
    std::string out, err;
};

inline Outcome command(const std::string &line) {
    std::istringstream words(line);
    std::vector<std::string> arguments;
    for (std::string w; words >> w;) arguments.push_back(w);
    std::ostringstream out, err;
    int status = run_command_line(arguments, out, err);
    return {status, out.str(), err.str()};
}

inline std::string contents(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file, path.string());
    std::stringstream s;
    s << file.rdbuf();
    return s.str();
}

// A folder that is gone afterwards.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "stretto_XXXXXX").string();
        path = mkdtemp(name.data());
    }
    ~Folder() {
        std::filesystem::remove_all(path);
    }
    std::string write(const std::string &name, const std::string &text) const {
        std::ofstream(path / name) << text;
        return (path / name).string();
    }
};

}  // namespace stretto::test
