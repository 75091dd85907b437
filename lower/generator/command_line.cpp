#include "lower/generator/command_line.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include "lang/error.h"
#include "lower/generator/artefact.h"
#include "lower/generator/check.h"
#include "lower/generator/generator.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

void list_generators(std::ostream &out) {
    for (auto &[name, factory] : registered_generators()) {
        auto g = factory();
        out << name << "\n  parameters:";
        for (auto *p : g->parameters())
            out << " " << p->name << "=" << p->text() << " (" << p->type_text() << ")";
        if (g->parameters().empty()) out << " none";
        out << "\n  schedules: default";
        for (auto *s : g->schedules()) out << ", " << s->name();
        out << "\n";
    }
}

std::vector<std::string> split_commas(const std::string &s) {
    std::vector<std::string> v;
    std::istringstream in(s);
    for (std::string part; std::getline(in, part, ',');) v.push_back(part);
    return v;
}

std::vector<int> parse_ranks(const std::string &s) {
    std::vector<int> ranks;
    for (auto &part : split_commas(s)) {
        size_t used = 0;
        int n = 0;
        try {
            n = std::stoi(part, &used);
        } catch (const std::exception &) {}
        if (used != part.size() || n < 1 || n > 64)
            throw Error("--check " + s + ": '" + part +
                        "' is no number of ranks.\nLegal: numbers from 1 to 64, as in --check 1,2,4");
        ranks.push_back(n);
    }
    if (ranks.empty()) throw Error("--check needs numbers of ranks.\nLegal: --check 1,2,4");
    return ranks;
}

struct Options {
    std::string generator, function, directory, emit = "static_library,c_header", runtime, check;
    bool streaming = false;
    std::string target = "host", schedule = "default";
    std::vector<std::pair<std::string, std::string>> parameters;
};

int perform(Options &o, std::ostream &out) {
    if (!o.runtime.empty()) {
        if (o.directory.empty())
            throw Error("-r " + o.runtime + " needs a folder to write to.\nLegal: -o DIR");
        out << write_halide_runtime(o.runtime, o.directory, o.target) << "\n";
        return 0;
    }
    if (o.generator.empty()) {
        list_generators(out);
        return 0;
    }
    auto g = make_generator(o.generator);
    for (auto &[name, value] : o.parameters) g->set_parameter(name, value);
    parse_target(o.target);
    const Program &p = g->program(o.generator);
    Schedule s = make_schedule(*g, p, o.schedule);
    if (!o.check.empty()) {
        CheckOptions c;
        c.ranks = parse_ranks(o.check);
        c.compile.target = o.target;
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
        return perform(o, out);
    } catch (const std::exception &e) {
        err << e.what() << "\n";
    }
    return 1;
}

}  // namespace stretto
