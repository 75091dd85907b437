#include "lang/error.h"
#include <regex>
#include "Halide.h"

namespace stretto {

namespace {

// Halide prints what access.h and tensor.h made as it stands: read(x, i), scalar.lr, world.ranks.
std::string as_written(std::string text) {
    static const std::pair<std::regex, const char *> made[] = {
        {std::regex("stretto_reference\\(\"(\\w+)\"(, )?"), "$1("},
        {std::regex("\\(void \\*\\)"), ""},
        {std::regex("world\\.(ranks?)"), "$1()"},
        {std::regex("(scalar|size)\\."), ""},
        {std::regex("stretto_"), ""}};
    for (auto &[pattern, written] : made) text = std::regex_replace(text, pattern, written);
    return text;
}

class Reporter : public Halide::CompileTimeErrorReporter {
    // The one of a wrong use begins so; all others are of what was made of a program.
    const std::string wrong_use = "Error: ";

public:
    void warning(const char *) override {  // bf16 warns once a function; nothing prints unasked
    }
    void error(const char *text) override {
        std::string why = text;
        while (!why.empty() && why.back() == '\n') why.pop_back();
        if (why.rfind(wrong_use, 0) != 0) throw Error("Halide: " + why);
        why = as_written(why.substr(wrong_use.size()));
        throw Error("In an expression: " + (why.empty() ? "an operand that is not legal here." : why) +
                    "\nLegal: operands that have a value, of types that the operation takes and tensors can have");
    }
};

}  // namespace

bool report_errors_in_expressions() {
    static Reporter reporter;
    Halide::set_custom_compile_time_error_reporter(&reporter);
    return true;
}

}  // namespace stretto
