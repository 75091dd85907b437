#include "lower/generator/generator.h"
#include <fstream>
#include <sstream>
#include "lang/error.h"
#include "lower/halide_adapter.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

// What `f` throws, with the generator that it comes from. Errors of programs name that themselves.
template <class F>
auto in_generator(const std::string &name, F f) {
    try {
        return f();
    } catch (const Halide::Error &e) {
        throw Error("In generator " + name + ": " + e.what());
    } catch (const Error &e) { throw Error("In generator " + name + ": " + e.what()); }
}

}  // namespace

GeneratorBase::GeneratorBase() {
    prepare_halide();
    Recorder::open = &recorder;
    NamedSchedule::open = &named;
}

GeneratorBase::~GeneratorBase() {
    close();
}

void GeneratorBase::close() {
    if (Recorder::open == &recorder) Recorder::open = nullptr;
    if (NamedSchedule::open == &named) NamedSchedule::open = nullptr;
}

void refuse_unknown(const std::string &what, const std::string &name, const Names &known, const std::string &legal) {
    std::string near = nearest_name(name, known);
    throw Error(what + (near.empty() ? "." : "; did you mean '" + near + "'?") + "\n" + legal);
}

void GeneratorBase::set_parameter(const std::string &name, const std::string &value) {
    Names known, assignments;
    for (auto *p : recorder.parameters) {
        if (p->name == name) {
            p->set_from_text(value);
            return;
        }
        known.push_back(p->name);
        assignments.push_back(p->name + "=" + p->text());
    }
    refuse_unknown("there is no parameter '" + name + "'", name, known,
                   "Parameters: " + (known.empty() ? "none" : join(assignments)));
}

const Program &GeneratorBase::program(const std::string &name) {
    if (!made) {
        size_t members = recorder.arguments.size();
        Recorder::open = &recorder;  // for require()
        try {
            in_generator(name, [&] { run_algorithm(); });
        } catch (...) {
            close();
            throw;
        }
        close();
        // Arguments that algorithm() made as locals are not the program's.
        recorder.arguments.resize(members);
        made = std::make_unique<Program>(name, recorder.arguments, recorder.requirements);
    }
    return *made;
}

std::map<std::string, GeneratorFactory> &registered_generators() {
    static std::map<std::string, GeneratorFactory> all;
    return all;
}

RegisterGenerator::RegisterGenerator(const std::string &name, GeneratorFactory factory) {
    auto [at, added] = registered_generators().insert({name, std::move(factory)});
    if (added) return;
    at->second = []() -> std::unique_ptr<GeneratorBase> {  // nobody can catch what is thrown here
        throw Error("two generators have this name.\nLegal: a name of its own for each, in STRETTO_REGISTER_GENERATOR");
    };
}

std::unique_ptr<GeneratorBase> make_generator(const std::string &name) {
    auto &all = registered_generators();
    auto it = all.find(name);
    if (it != all.end()) return in_generator(name, it->second);
    Names known;
    for (auto &g : all) known.push_back(g.first);
    refuse_unknown("there is no generator '" + name + "'", name, known,
                   "Generators: " + (known.empty() ? "none" : join(known)));
}

Schedule make_schedule(const GeneratorBase &g, const Program &p, const std::string &text) {
    if (text == "default") return Schedule(p);
    if (!text.empty() && text[0] == '@') {
        std::ifstream file(text.substr(1));
        if (!file) throw Error("schedule=" + text + ": the file '" + text.substr(1) + "' cannot be read.");
        std::ostringstream contents;
        contents << file.rdbuf();
        return Schedule::parse(p, contents.str());
    }
    Names known{"default"};
    for (auto *s : g.schedules()) {
        if (s->name() == text) {
            Schedule schedule(p);
            (*s)(schedule);
            return schedule;
        }
        known.push_back(s->name());
    }
    refuse_unknown("there is no schedule '" + text + "'", text, known, "Schedules: " + join(known) + ", or @file");
}

}  // namespace stretto
