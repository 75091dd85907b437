// Collects the messages of refused programs for one golden file; a program that is accepted is a failure.
#pragma once
#include "lang/print.h"
#include "lang/program.h"
#include "tests/golden.h"

namespace stretto::test {

class Refusals {
    std::string text;

public:
    // `why`: the rule that `define` violates.
    void add(const std::string &why, const std::function<void()> &define) {
        try {
            define();
            FAIL_CHECK("not refused: " << why);
        } catch (const Error &e) { text += "# " + why + "\n" + e.what() + "\n\n"; }
    }
    void check(const std::string &golden) const {
        check_golden(golden, text);
    }
};

}  // namespace stretto::test
