// Generators: programs with parameters and named schedules, compiled ahead of time by their command line.
//
//     struct Adam : Generator<Adam> {
//         GeneratorParam<Type> grad_type{"grad_type", f32};
//         Input<Tensor> g{"g", grad_type, {n}, partial(Sum)};
//         void algorithm() { ... }
//         NamedSchedule fused{"fused", [this](Schedule &s) { ... }};
//     };
//     STRETTO_REGISTER_GENERATOR(Adam, adam)
#pragma once
#include "lang/program.h"
#include "schedule/named_schedule.h"

namespace stretto {

// Constructed before the members of a generator, so that they register with it; closed by make_generator.
class GeneratorBase {
    Recorder recorder;
    std::vector<NamedSchedule *> named;
    std::unique_ptr<Program> made;

protected:
    virtual void run_algorithm() = 0;

public:
    GeneratorBase();
    GeneratorBase(const GeneratorBase &) = delete;
    virtual ~GeneratorBase();
    void close();  // members after this belong to nobody

    const std::vector<GeneratorParamBase *> &parameters() const {
        return recorder.parameters;
    }
    const std::vector<NamedSchedule *> &schedules() const {
        return named;
    }
    // Throws an Error that lists the parameters, the nearest name first. Before program().
    void set_parameter(const std::string &name, const std::string &value);
    // Runs algorithm() once.
    const Program &program(const std::string &name);
};

template <class G>
class Generator : public GeneratorBase {
    void run_algorithm() override {
        static_cast<G *>(this)->algorithm();
    }
};

using GeneratorFactory = std::function<std::unique_ptr<GeneratorBase>()>;

// Registered generators by name.
std::map<std::string, GeneratorFactory> &registered_generators();
// Throws an Error that lists the registered ones, the nearest first.
std::unique_ptr<GeneratorBase> make_generator(const std::string &name);

struct RegisterGenerator {
    RegisterGenerator(const std::string &name, GeneratorFactory factory);
};

// Throws an Error: what there is not, the known name nearest to `name`, and what is legal.
[[noreturn]] void refuse_unknown(const std::string &what, const std::string &name, const Names &known,
                                 const std::string &legal);

// The schedule that `text` names: "default", a named schedule, or "@file" with a schedule's text. Throws Error.
Schedule make_schedule(const GeneratorBase &, const Program &, const std::string &text);

}  // namespace stretto

#define STRETTO_REGISTER_GENERATOR(CLASS, NAME)                                   \
    static const ::stretto::RegisterGenerator stretto_register_##NAME(#NAME, [] { \
        auto generator = std::make_unique<CLASS>();                               \
        generator->close();                                                       \
        return std::unique_ptr<::stretto::GeneratorBase>(std::move(generator));   \
    });
