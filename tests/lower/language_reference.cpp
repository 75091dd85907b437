// The blocks of code in lang/REFERENCE.md (CMakeLists.txt takes them out): those that are legal have the reference's bits on
// 1, 2 and 3 ranks; those that begin with "// refused" are, and golden/lower/language_reference.txt has what is said.
#include <stretto/stretto.h>
#include "../golden.h"

using namespace stretto;

namespace {

int legal = 0;
std::string refusals;

// Of the members that a block declares those that it uses: outputs that it defines, in-outs that it updates.
std::vector<ArgumentRef> used(const std::vector<ArgumentRef> &arguments) {
    std::vector<ArgumentRef> list;
    for (auto &a : arguments)
        if (a.scalar || a.access == Access::Input || (a.access == Access::Output && a.definition->defined) ||
            (a.access == Access::InOut && a.update && *a.update))
            list.push_back(a);
    return list;
}

template <class Block>
CheckReport checked() {
    Recorder recorder;
    Recorder::open = &recorder;
    struct Close {
        ~Close() { Recorder::open = nullptr; }
    } close;
    Block block;
    block.algorithm();
    Program p("block", used(recorder.arguments), recorder.requirements);
    CheckOptions o;
    o.ranks = {1, 2, 3};
    o.sizes = {1, 5, 8};
    return check(p, Schedule(p), o);
}

template <class Block>
void run(const std::string &code) {
    INFO(code);
    const bool refused = code.find("// refused") != std::string::npos;
    try {
        const CheckReport report = checked<Block>();
        CHECK(!refused);
        CHECK_MESSAGE(report.ok(), to_string(report));
        legal++;
    } catch (const Error &e) {
        CHECK_MESSAGE(refused, std::string(e.what()));
        refusals += code.substr(1) + e.what() + "\n\n";
    }
}

#include "reference_blocks.inc"

}  // namespace

TEST_CASE("the blocks of code in the language's reference") {
    run_all();
    CHECK(legal > 15);
    test::check_golden("lower/language_reference", refusals);
}
