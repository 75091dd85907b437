#include "lower/generator/artefact.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include "collectives/plan/print.h"
#include "lang/error.h"
#include "lang/print.h"
#include "lower/emit.h"
#include "lower/generator/c_names.h"
#include "lower/generator/generator.h"
#include "lower/loop_nest.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

void write_file(const std::string &path, const std::string &contents) {
    std::ofstream f(path, std::ios::binary);
    f << contents;
    f.close();
    if (!f) throw Error("'" + path + "' cannot be written.");
}

void make_folder(const std::string &path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!std::filesystem::is_directory(path))
        throw Error("-o " + path + ": the folder cannot be made" +
                    (error ? ": " + error.message() : "; a file has that name") +
                    ".\nLegal: a folder that exists, or one that can be made");
}

// A name near this one that a header can have.
std::string proposed(const std::string &name, bool external) {
    const std::string words = std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_");  // without "__"
    const std::string s = std::regex_replace(words, std::regex("^_|_$"), "");
    if (s != name && c_name_fault(s, external).empty()) return s;
    return external ? "run_" + s : s + "_value";
}

// The header's names: of the function, and of its parameters, the first of which is comm.
void check_names(const Graph &g, const std::string &function) {
    std::string why = c_name_fault(function, true);
    if (!why.empty())
        throw Error("-f " + function + ": " + why + ".\nLegal: letters, digits and '_', not beginning with a digit, as -f " +
                    proposed(function, true));
    Names names = size_parameters(g);
    for (auto &a : g.arguments) names.push_back(a.name);
    for (auto &name : names) {
        why = name == "comm"               ? "'comm' is the function's first parameter, the communicator"
              : name == function + "_plan" ? "'" + name + "' is the name of what belongs to " + function
                                           : c_name_fault(name, false);
        if (!why.empty())
            throw Error("In program " + g.program + ": no header can have the argument " + name + ": " + why +
                        ".\nLegal: another name, as " + proposed(name, false));
    }
}

std::string c_type(const Type &t) {
    return t == f32 ? "float" : t == f64  ? "double"
                            : t.is_bool() ? "bool"
                                          : cpp_type_name(t);
}

std::string element_text(const Type &t) {
    if (t == f16) return "16-bit floats (float16)";
    if (t == bf16) return "16-bit floats (bfloat16)";
    return c_type(t) + "s";
}

// "this rank's addend, n x h floats"
std::string argument_text(const Graph &g, const Argument &a) {
    std::string shape;
    for (auto &d : a.dims) shape += (shape.empty() ? "" : " x ") + to_string(g, d);
    std::string what = (shape.empty() ? "one of " : shape + " ") + element_text(a.type);
    std::string access = a.access == Access::Input   ? ""
                         : a.access == Access::InOut ? ", updated"
                                                     : ", written";
    int d = a.layout.first_sliced();
    if (d >= 0)
        return "this rank's slice of dimension " + std::to_string(d) + " of " + what + access +
               "; min and extent of that dimension as stretto_slice() says";
    if (a.layout.is_partial())
        return std::string("this rank's addend of a ") + reduce_op_name(a.layout.op()) + " over ranks, " +
               what + access;
    if (a.layout.is_local()) return "this rank's own, " + what + access;
    return "the same on every rank, " + what + access;
}

}  // namespace

const std::vector<std::string> &emit_kinds() {
    static const std::vector<std::string> kinds = {"static_library", "c_header", "plan",
                                                   "plan_json", "schedule", "graph",
                                                   "loop_nest", "stmt", "stmt_html"};
    return kinds;
}

std::string header_text(const Graph &g, const ArtefactRequest &r) {
    std::ostringstream o;
    const std::string guard = "STRETTO_FUNCTION_" + r.function;
    o << "/* " << g.program << ", schedule " << r.schedule_name << ". Made by Stretto; do not edit. */\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n#include <stdbool.h>\n#include <stretto/runtime.h>\n\n"
      << "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      << "struct halide_filter_metadata_t;\n\n"
      << "/* Tensors are row-major: dimension 0 of a halide_buffer_t is the last index, with stride 1.\n";
    for (auto &a : g.arguments) {
        o << " *   " << a.name << ": " << (a.scalar ? "a scalar" : argument_text(g, a)) << "\n";
    }
    auto extra = size_parameters(g);
    for (auto &s : extra) o << " *   " << s << ": the extent that every tensor above has only a slice of\n";
    o << " * Every rank of comm calls it with the same scalars and extents. Returns 0, or a stretto_status;\n"
      << " * stretto_last_error() has the text. */\n";
    std::string call = "int " + r.function + "(stretto_comm_t *comm";
    for (auto &a : g.arguments)
        call += ", " + (a.scalar ? c_type(a.type) + " " : std::string("struct halide_buffer_t *")) + a.name;
    for (auto &s : extra) call += ", int64_t " + s;
    o << call << ");\n\n"
      << "/* Halide's description of the arguments. */\n"
      << "const struct halide_filter_metadata_t *" << r.function << "_metadata(void);\n\n"
      << "#ifdef __cplusplus\n}\n#endif\n#endif\n";
    return o.str();
}

std::vector<std::string> write_artefact(const Program &p, const Schedule &s, const ArtefactRequest &r) {
    auto among = [](const std::vector<std::string> &all, const std::string &kind) {
        return std::find(all.begin(), all.end(), kind) != all.end();
    };
    auto wants = [&](const char *kind) { return among(r.emit, kind); };
    for (auto &e : r.emit)
        if (!among(emit_kinds(), e))
            refuse_unknown("there is nothing called '" + e + "' to emit", e, emit_kinds(), "-e takes: " + join(emit_kinds()));
    check_names(s.graph(), r.function);
    make_folder(r.directory);
    std::vector<std::string> written;
    auto path = [&](const std::string &extension) {
        written.push_back(r.directory + "/" + r.function + extension);
        return written.back();
    };
    if (wants("c_header")) write_file(path(".h"), header_text(s.graph(), r));
    if (wants("schedule")) write_file(path(".schedule"), s.text());
    if (wants("graph"))
        write_file(path(".graph"), to_string(p.graph()) + "\nafter the schedule:\n" + to_string(s.graph()));
    if (wants("loop_nest")) write_file(path(".loop_nest"), loop_nest(lower_to_stages(s.graph())));
    if (!wants("static_library") && !wants("plan") && !wants("plan_json") && !wants("stmt") &&
        !wants("stmt_html"))
        return written;

    LowerOptions o;
    o.target = parse_target(r.target).with_feature(Halide::Target::NoRuntime);
    o.function = r.function;
    o.schedule = s.text();
    Lowered l = lower(s.graph(), o);
    if (wants("plan")) write_file(path(".plan"), plan::print(l.plan));
    if (wants("plan_json")) write_file(path(".plan.json"), plan::print_json(l.bytes));
    std::map<Halide::OutputFileType, std::string> outputs;
    if (wants("stmt")) outputs[Halide::OutputFileType::stmt] = path(".stmt");
    if (wants("stmt_html")) outputs[Halide::OutputFileType::stmt_html] = path(".stmt.html");
    if (wants("static_library")) outputs[Halide::OutputFileType::static_library] = path(".a");
    if (outputs.empty()) return written;
    using Halide::Argument;
    std::vector<Argument> arguments;
    for (auto &a : s.graph().arguments)
        arguments.emplace_back(a.name, a.scalar ? Argument::InputScalar : a.access == Access::Output ? Argument::OutputBuffer
                                                                                                     : Argument::InputBuffer,
                               a.type, a.dims.size(), Halide::ArgumentEstimates{});
    for (auto &size : size_parameters(s.graph()))
        arguments.emplace_back(size, Argument::InputScalar, i64, 0, Halide::ArgumentEstimates{});
    add_wrapper(l.module, r.function, l.bytes, arguments);
    l.module.compile(outputs);
    return written;
}

std::string write_halide_runtime(const std::string &name, const std::string &directory,
                                 const std::string &target) {
    make_folder(directory);
    std::string path = directory + "/" + name + ".a";
    Halide::compile_standalone_runtime({{Halide::OutputFileType::static_library, path}},
                                       parse_target(target));
    return path;
}

}  // namespace stretto
