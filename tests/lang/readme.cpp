// Each block of code in lang/README.md compiles as it stands, is a program, and runs in the reference.
#include <doctest/doctest.h>
#include "lang/program.h"
#include "lang/reference/random_inputs.h"

using namespace stretto;

namespace {

int blocks = 0;

// Collects the arguments that are declared while it is there, as a generator does.
class Block {
    Recorder recorder;

public:
    Block() { Recorder::open = &recorder; }
    ~Block() { Recorder::open = nullptr; }
    void run() {
        blocks++;
        const Program p("readme", recorder.arguments, recorder.requirements);
        std::map<std::string, int64_t> sizes;
        for (auto &s : p.graph().sizes) sizes[s] = 7;
        for (int ranks : {1, 3}) {
            const RunResult r = interpret(p.graph(), ranks, random_inputs(p.graph(), sizes, ranks, 1));
            CHECK(r.failed_requirement == "");
        }
    }
};

}  // namespace

#include "readme_blocks.inc"
