// The LLVM code of kernels: which instructions may be computed otherwise than IEEE 754 says.
#include <doctest/doctest.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <unistd.h>
#include "lower/halide_adapter.h"
#include "lower/lower.h"
#include "tests/programs.h"

using namespace stretto;

namespace {

// The instructions of `lib` that have a fast-math flag: "fmul contract", each kind once.
std::set<std::string> loose(const Halide::Module &lib) {
    char path[] = "/tmp/stretto-code-XXXXXX";
    close(mkstemp(path));
    lib.compile({{Halide::OutputFileType::llvm_assembly, path}});
    std::ifstream in(path);
    std::set<std::string> found;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string word, text;
        bool flag = false;
        std::string op;
        while (words >> word) {
            if (word[0] == '%' || word == "=" || word == "tail") continue;
            if (op.empty()) op = word;
            if (word == "fast" || word == "nnan" || word == "ninf" || word == "reassoc" || word == "afn" || word == "arcp" ||
                word == "nsz" || word == "contract") {
                flag = true;
                text += " " + word;
            } else if (flag) {
                text += " " + word;
                if (op == "call" && word.find('@') == std::string::npos) continue;
                break;
            }
        }
        if (flag) found.insert(op + text);
    }
    unlink(path);
    return found;
}

}  // namespace

TEST_CASE("what is not strict") {
    std::map<std::string, std::string> where;
    for (auto &[name, make] : test::all_programs()) {
        test::ScheduledProgram p = make();
        for (auto &[schedule, s] : p.schedules)
            for (std::string target : {"host", "x86-64-linux", "x86-64-linux-avx2-fma-f16c"}) {
                LowerOptions o;
                o.target = parse_target(target);
                Lowered l = lower(s.graph(), o);
                for (auto &x : loose(l.module)) where.insert({x, name + ", " + schedule + ", " + target});
            }
    }
    for (auto &[what, first] : where) std::cout << what << "    # " << first << "\n";
}
