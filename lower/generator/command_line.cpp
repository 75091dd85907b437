#include "lower/generator/command_line.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <sstream>
#include "lang/error.h"
#include "lower/generator/artefact.h"
#include "lower/generator/check.h"
#include "lower/generator/generator.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

// Also when one of them cannot be made: its error comes after the list. Returns the exit status.
int list_generators(std::ostream &out, std::ostream &err) {
    std::string errors;
    for (auto &[name, factory] : registered_generators()) {
        std::unique_ptr<GeneratorBase> g;
        try {
            g = make_generator(name);
        } catch (const std::exception &e) {
            errors += std::string(e.what()) + "\n";
            continue;
        }
        out << name << "\n  parameters:";
        for (auto *p : g->parameters())
            out << " " << p->name << "=" << p->text() << " (" << p->type_text() << ")";
        if (g->parameters().empty()) out << " none";
        out << "\n  schedules: default";
        for (auto *s : g->schedules()) out << ", " << s->name();
        out << "\n";
    }
    err << errors;
    return errors.empty() ? 0 : 1;
}

std::vector<std::string> split_commas(const std::string &s) {
    std::vector<std::string> v;
    std::istringstream in(s);
    for (std::string part; std::getline(in, part, ',');) v.push_back(part);
    return v;
}

template <class T>
std::vector<T> parse_numbers(const std::string &option, const std::string &s, const std::string &what, T low, T high) {
    std::vector<T> numbers;
    for (auto &part : split_commas(s)) {
        T n = 0;
        auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), n);
        if (part.empty() || error != std::errc() || end != part.data() + part.size() || n < low || n > high)
            throw Error(option + " " + s + ": '" + part + "' is no " + what + ".\nLegal: numbers from " + std::to_string(low) +
                        " to " + std::to_string(high) + ", as in " + option + " 1,2,4");
        numbers.push_back(n);
    }
    return numbers;
}

// The options that each use of the program reads; the others would be without effect.
void check_use(const CLI::App &app) {
    struct Use {
        std::string chosen_by, what;
        Names reads;
    };
    const Names of_check = {"--check", "--check-sizes", "--check-streaming"};
    const std::vector<Use> uses = {
        {"-r", "-r writes Halide's runtime", {"-r", "-o", "name=value"}},
        {"--check", "--check runs, and writes no files", {of_check[0], of_check[1], of_check[2], "-g", "name=value"}},
        {"-g", "-g writes files", {"-g", "-f", "-o", "-e", "name=value"}},
        {"", "without -g the program lists generators", {}}};
    auto among = [](const Names &all, const std::string &x) { return std::find(all.begin(), all.end(), x) != all.end(); };
    auto given = [&](const std::string &option) { return option.empty() || app.get_option(option)->count() > 0; };
    auto use = std::find_if(uses.begin(), uses.end(), [&](auto &u) { return given(u.chosen_by); });
    for (std::string option : {"-g", "-f", "-o", "-e", "-r", "--check", "--check-sizes", "--check-streaming", "name=value"})
        if (given(option) && !among(use->reads, option))
            throw Error(option + " would have no effect: " + use->what + ".\nLegal: " +
                        (use->chosen_by.empty() ? option + " with " + (among(of_check, option) ? "--check" : "-g")
                                                : "with " + use->chosen_by + ": " + join(use->reads)));
    if (use->chosen_by == "--check" && !given("-g"))
        throw Error("--check without a generator.\nLegal: -g NAME --check 1,2,4");
}

struct Options {
    std::string generator, function, directory, emit = "static_library,c_header", runtime, check, sizes;
    bool streaming = false;
    std::string target = "host", schedule = "default";
    std::vector<std::pair<std::string, std::string>> parameters;
};

int perform(Options &o, std::ostream &out, std::ostream &err) {
    if (!o.runtime.empty()) {
        if (o.directory.empty())
            throw Error("-r " + o.runtime + " needs a folder to write to.\nLegal: -o DIR");
        if (!o.parameters.empty() || o.schedule != "default")
            throw Error(
                "-r writes Halide's runtime, which no schedule or parameter changes.\n"
                "Legal: -r NAME -o DIR target=TARGET");
        out << write_halide_runtime(o.runtime, o.directory, o.target) << "\n";
        return 0;
    }
    if (o.generator.empty()) {
        return list_generators(out, err);
    }
    auto g = make_generator(o.generator);
    for (auto &[name, value] : o.parameters) g->set_parameter(name, value);
    parse_target(o.target);
    const Program &p = g->program(o.generator);
    Schedule s = make_schedule(*g, p, o.schedule);
    if (!o.check.empty()) {
        CheckOptions c;
        c.ranks = parse_numbers<int>("--check", o.check, "number of ranks", 1, 64);
        if (c.ranks.empty()) throw Error("--check needs numbers of ranks.\nLegal: --check 1,2,4");
        c.compile.target = o.target;
        c.sizes = parse_numbers<int64_t>("--check-sizes", o.sizes, "size", 0, int64_t(1) << 31);
        c.streaming_size = o.streaming;
        CheckReport report = check(p, s, c);
        out << to_string(report);
        return report.ok() ? 0 : 2;
    }
    if (o.directory.empty())
        throw Error("-g " + o.generator +
                    " needs a folder to write to, or something to check.\nLegal: -o DIR, or --check 1,2,4");
    ArtefactRequest r;
    r.function = o.function.empty() ? o.generator : o.function;
    r.directory = o.directory;
    r.emit = split_commas(o.emit);
    r.target = o.target;
    r.schedule_name = o.schedule;
    for (auto &path : write_artefact(p, s, r)) out << path << "\n";
    return 0;
}

}  // namespace

int run_command_line(const std::vector<std::string> &arguments, std::ostream &out, std::ostream &err) {
    CLI::App app{
        "Compiles Stretto programs. Without options: lists generators, their parameters and schedules.",
        "generator"};
    Options o;
    std::vector<std::string> assignments;
    app.add_option("-g", o.generator, "the generator to run");
    app.add_option("-f", o.function, "name of the compiled function (default: the generator's)");
    app.add_option("-o", o.directory, "folder for the files");
    app.add_option("-e", o.emit, "what to write, with commas between: " + join(emit_kinds()))->capture_default_str();
    app.add_option("-r", o.runtime, "write Halide's runtime as a library of this name instead");
    app.add_option("--check", o.check, "run on these numbers of ranks against the reference, as in 1,2,4");
    app.add_option("--check-sizes", o.sizes, "with --check: the values that each size has in turn, as in 8,1000");
    app.add_flag("--check-streaming", o.streaming,
                 "with --check: also a size that is stored past the caches (slow)");
    app.add_option("name=value", assignments,
                   "target=host, schedule=NAME or schedule=@file, and the generator's parameters");
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(reversed);
    } catch (const CLI::CallForHelp &) {
        out << app.help();
        return 0;
    } catch (const CLI::Error &e) {
        err << e.what() << "\nSee --help\n";
        return 1;
    }
    try {
        check_use(app);
        for (auto &a : assignments) {
            size_t equals = a.find('=');
            if (equals == std::string::npos || equals == 0)
                throw Error(
                    "'" + a +
                    "' is not of the form name=value.\nLegal: target=host, schedule=NAME, parameter=value");
            std::string name = a.substr(0, equals), value = a.substr(equals + 1);
            if (name == "target") o.target = value;
            else if (name == "schedule") o.schedule = value;
            else o.parameters.push_back({name, value});
        }
        return perform(o, out, err);
    } catch (const std::exception &e) {
        err << e.what() << "\n";
    }
    return 1;
}

}  // namespace stretto
