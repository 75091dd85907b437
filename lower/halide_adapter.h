// Everything that depends on how Halide 21 works inside. An upgrade of Halide re-checks this file, with tests/lower/halide_*.
#pragma once
#include <cstdint>
#include "lang/types.h"

namespace stretto {

// Makes Halide throw instead of abort, and keeps its warnings to itself. Idempotent; every entry point calls it.
void prepare_halide();

// The machine that runs this, or a Halide target string. Throws Error with the nearest name.
Halide::Target parse_target(const std::string &text);

// Does the code of a contraction add a product without rounding it? All targets that do have the same bits, and all others.
bool has_fused_multiply_add(const Halide::Target &);

// ---- Kernels. Parameters by hand, because a kernel's arguments are known only after its body is built.
using KernelArguments = std::vector<Halide::Parameter>;
Expr add_scalar(KernelArguments &, const Type &, const std::string &name);

// Halide 21's SplitTuples does not look inside strict calls for reads of the tuple that an update defines, and would store
// one element before another reads it: each value is wrapped in a select whose condition names every element that is read
// and whose arms are equal. The simplifier removes the select.
std::vector<Expr> visible(std::vector<Expr> values, const std::vector<Expr> &elements_read);

// checked: with Halide's own checks of arguments and bounds. far: elements may be 2^31 and more from a buffer's first.
Halide::Module compile_kernels(const std::vector<Halide::Func> &outs, const KernelArguments &, const std::string &name,
                               const Halide::Target &, bool checked, bool far = false);

// Was it Halide's word that a buffer is read at an index without bounds?
bool is_unbounded_read(const std::exception &);

// One module of all kernels with `int NAME_dispatch(int kernel, void **argv)`, which calls kernel number `kernel`.
Halide::Module link_kernels(const std::string &name, const std::vector<Halide::Module> &kernels);

// Adds the plan's bytes and `int FUNCTION(stretto_comm_t *comm, arguments...)`, which calls stretto_execute_v1.
void add_wrapper(Halide::Module &, const std::string &function, const std::vector<uint8_t> &plan,
                 const std::vector<Halide::Argument> &arguments);

// NAME_dispatch, compiled in memory, which lives as long as the object.
class JitLibrary {
    Halide::Internal::JITModule module;

public:
    using Dispatch = int (*)(int kernel, void **argv);
    Dispatch dispatch;
    // error_handler gets what a kernel's own checks say, in the thread that calls it. One for all libraries.
    JitLibrary(const Halide::Module &, const std::string &name, void (*error_handler)(const char *text));
};

}  // namespace stretto
