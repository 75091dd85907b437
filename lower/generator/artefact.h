// A compiled program as files: a static library and a C header that know nothing of the compiler.
#pragma once
#include "lower/lower.h"
#include "schedule/schedule.h"

namespace stretto {

// What can be emitted, as the names that -e takes.
const std::vector<std::string> &emit_kinds();

struct ArtefactRequest {
    std::string function, directory;
    std::vector<std::string> emit;
    std::string target = "host";
    std::string schedule_name = "default";
};

// Writes FUNCTION.a, .h, .plan, .plan.json, .schedule, .graph, .loop_nest, .stmt, .stmt.html as asked; returns the paths.
// Throws Error, also for kinds it does not know (nearest name).
std::vector<std::string> write_artefact(const Program &, const Schedule &, const ArtefactRequest &);

// Halide's runtime as a static library of its own, to be linked once with any number of artefacts of the target.
std::string write_halide_runtime(const std::string &name, const std::string &directory, const std::string &target);

// The header's text: one prototype, and for each argument what to pass.
std::string header_text(const Graph &scheduled, const ArtefactRequest &);

}  // namespace stretto
