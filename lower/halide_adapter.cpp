#include "lower/halide_adapter.h"
#include <mutex>
#include <sstream>
#include "lang/error.h"
#include "lower/conversions.h"
#include "lower/wrapping.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::Argument;
using Halide::ArgumentEstimates;
using Halide::LinkageType;
using Halide::Module;
using Halide::Parameter;
using Halide::Target;

namespace {

void (*kernel_error_handler)(const char *text) = nullptr;

void on_kernel_error(Halide::JITUserContext *, const char *text) {
    if (kernel_error_handler) kernel_error_handler(text);
}

Expr handle(const std::string &name) {
    return Variable::make(Halide::Handle(), name);
}

// rc = f(...); if (rc != 0) return rc;
Stmt call_or_return(const std::string &name, const Expr &call) {
    Expr rc = Variable::make(Halide::Int(32), name);
    return LetStmt::make(name, call, AssertStmt::make(rc == 0, rc));
}

LoweredArgument function_scalar(const std::string &name, const Type &t) {
    return LoweredArgument(name, Argument::InputScalar, t, 0, ArgumentEstimates{});
}

}  // namespace

void prepare_halide() {
    static std::once_flag once;
    std::call_once(once, [] {
        Halide::JITHandlers handlers{};
        handlers.custom_error = on_kernel_error;
        JITSharedRuntime::set_default_handlers(handlers);
    });
}

Target parse_target(const std::string &text) {
    prepare_halide();
    if (!Target::validate_target_string(text)) {
        std::vector<std::string> known = {"host", "x86", "arm", "linux", "osx", "windows", "32", "64"};
        for (int f = 0; f < int(Target::FeatureEnd); f++) known.push_back(Target::feature_to_name(Target::Feature(f)));
        std::string part;  // the first that is unknown, else the last
        std::istringstream parts(text);
        while (std::getline(parts, part, '-') && std::find(known.begin(), known.end(), part) != known.end()) {}
        std::string near = nearest_name(part, known);
        throw Error("there is no target '" + text + "'" +
                    (near.empty() ? "." : ": '" + part + "' is unknown; did you mean '" + near + "'?") +
                    "\nLegal: host, or Halide's arch-bits-os-features, as x86-64-linux-avx2-fma");
    }
    return Target(text);
}

bool has_fused_multiply_add(const Target &t) {
    return t.arch != Target::X86 || t.features_any_of({Target::FMA, Target::AVX512, Target::AVX512_KNL, Target::AVX512_Skylake,
                                                       Target::AVX512_Cannonlake, Target::AVX512_Zen4, Target::AVX512_Zen5,
                                                       Target::AVX512_SapphireRapids, Target::AVX10_1});
}

Expr add_scalar(KernelArguments &list, const Type &t, const std::string &name) {
    list.push_back(Parameter(t, false, 0, name));
    return Variable::make(t, name, list.back());
}

std::vector<Expr> visible(std::vector<Expr> values, const std::vector<Expr> &elements_read) {
    if (values.size() < 2 || elements_read.empty()) return values;
    Expr seen;
    for (auto &e : elements_read) seen = seen.defined() ? seen && e == e : e == e;
    for (auto &v : values) v = Select::make(seen, v, v);
    return values;
}

Module compile_kernels(const std::vector<Halide::Func> &outs, const KernelArguments &a, const std::string &name,
                       const Target &t, bool checked, bool far) {
    Target how = t;
    if (!checked) how.set_feature(Target::NoAsserts);
    if (far) how.set_feature(Target::LargeBuffers);
    std::vector<Argument> arguments;
    for (auto &p : a)
        arguments.push_back(Argument(p.name(), p.is_buffer() ? Argument::InputBuffer : Argument::InputScalar, p.type(),
                                     p.dimensions(), ArgumentEstimates{}));
    Halide::Pipeline pipeline(outs);
    pipeline.add_custom_lowering_pass(make_conversions_exact(t));  // which owns it
    pipeline.add_custom_lowering_pass(make_integers_wrap());
    Module kernel = pipeline.compile_to_module(arguments, name, how, LinkageType::ExternalPlusArgv);
    if (how == t) return kernel;
    // Modules link only when their targets are equal; and under NoAsserts LLVM code of the dispatcher and the wrapper would
    // drop the return of error codes, which are assertions.
    Module same(name, t);
    for (auto &f : kernel.functions()) same.append(f);
    for (auto &b : kernel.buffers()) same.append(b);
    same.set_any_strict_float(kernel.any_strict_float());
    return same;
}

bool is_unbounded_read(const std::exception &e) {
    return std::string(e.what()).find("may be accessed in an unbounded way") != std::string::npos;
}

Module link_kernels(const std::string &name, const std::vector<Module> &kernels) {
    Module lib = Halide::link_modules(name, kernels);
    lib.set_any_strict_float(true);  // link_modules drops it, and LLVM code with strict calls then asserts
    Expr kernel = Variable::make(Halide::Int(32), "kernel");
    Stmt body;
    for (int i = int(kernels.size()) - 1; i >= 0; i--) {
        Expr call = Call::make(Halide::Int(32), kernels[size_t(i)].name() + "_argv", {handle("argv")}, Call::Extern);
        body = IfThenElse::make(kernel == i, call_or_return("rc" + std::to_string(i), call), body);
    }
    if (!body.defined()) body = Evaluate::make(0);
    lib.append(LoweredFunc(name + "_dispatch",
                           std::vector<LoweredArgument>{function_scalar("kernel", Halide::Int(32)),
                                                        function_scalar("argv", Halide::Handle())},
                           body, LinkageType::ExternalPlusArgv));
    return lib;
}

void add_wrapper(Module &lib, const std::string &function, const std::vector<uint8_t> &plan,
                 const std::vector<Argument> &arguments) {
    std::string plan_name = function + "_plan";
    Halide::Buffer<uint8_t> bytes(int(plan.size()), plan_name);
    std::copy(plan.begin(), plan.end(), bytes.data());
    lib.append(bytes);
    std::vector<LoweredArgument> parameters{function_scalar("comm", Halide::Handle())};
    std::vector<Expr> values;
    auto address = [](const std::vector<Expr> &members) {  // of a structure
        return Call::make(Halide::type_of<void *>(), Call::make_struct, members, Call::Intrinsic);
    };
    auto buffer = [](const std::string &name) {
        return Variable::make(Halide::type_of<halide_buffer_t *>(), name + ".buffer");
    };
    for (auto &a : arguments) {
        parameters.push_back(LoweredArgument(a));
        values.push_back(a.is_scalar() ? address({Variable::make(a.type, a.name)}) : buffer(a.name));
    }
    Expr execute = Call::make(Halide::Int(32), "stretto_execute_v1",
                              {handle("comm"), buffer(plan_name), handle("::" + function + "_dispatch"), address(values)},
                              Call::Extern);
    lib.append(LoweredFunc(function, parameters, call_or_return("rc", execute), LinkageType::ExternalPlusMetadata));
}

JitLibrary::JitLibrary(const Module &lib, const std::string &name, void (*error_handler)(const char *text)) {
    prepare_halide();
    kernel_error_handler = error_handler;
    const std::string function = name + "_dispatch";
    module = JITModule(lib, lib.get_function_by_name(function));
    dispatch = Dispatch(module.find_symbol_by_name(function).address);
    if (!dispatch) throw Error("internal: the JIT has no function " + function);
}

}  // namespace stretto
