// The command line of a generator program, after Halide's:
//
//     adam_generator                                     lists generators, parameters and schedules
//     adam_generator -g adam -o DIR [-f FUNCTION] [-e static_library,c_header] target=host schedule=fused grad_type=float16
//     adam_generator -g adam schedule=fused --check 1,2,4
//     adam_generator -r halide_runtime -o DIR target=host
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace stretto {

// Returns the exit status: 0, or 1 with the error's text on `err`, or 2 when --check found differences.
int run_command_line(const std::vector<std::string> &arguments, std::ostream &out, std::ostream &err);

}  // namespace stretto
