// Members of generators: arguments and parameters, which register with the open recorder.
#include <cstring>
#include <regex>
#include "lang/program.h"

namespace stretto {

thread_local Recorder *Recorder::open = nullptr;

void check_name(const std::string &name, const char *what) {
    static const std::regex legal("[A-Za-z_][A-Za-z0-9_]*");
    if (!std::regex_match(name, legal))
        throw Error("'" + name + "' cannot be the name of " + (strchr("aeiou", *what) ? "an " : "a ") + what +
                    ".\nLegal: letters, digits and '_', not beginning with a digit");
}

// ---- arguments

void ArgumentBase::record(const ArgumentRef &r) {
    check_name(r.name, "argument");
    ref = r;
    ref.range = std::make_shared<std::pair<double, double>>(0, 0);
    if (Recorder::open) Recorder::open->arguments.push_back(ref);
}

TensorArgument::TensorArgument(Access access, const std::string &name, LateType type,
                               std::vector<Extent> extents, Layout layout)
    : Tensor(name, type, std::move(extents), std::move(layout)) {
    d->argument = access != Access::Output;
    record({name, access, false, Type(), d,
            access == Access::InOut ? std::make_shared<DefinitionPtr>() : nullptr, nullptr});
}

void update(const InOut<Tensor> &t, const Tensor &value) {
    DefinitionPtr &slot = *ArgumentRef(t).update;
    if (slot)
        throw Error(t.name() + " is updated twice, by " + slot->name + " and by " + value.name() +
                    ".\nLegal: one update");
    slot = value.definition();
}

void require(const Expr &condition, const std::string &text) {
    if (!Recorder::open)
        throw Error(
            "require(...) outside of a generator's algorithm().\nLegal: program.require(condition, text)");
    Recorder::open->requirements.push_back({condition, text});
}

// ---- parameters

GeneratorParamBase::GeneratorParamBase(const std::string &name) : name(name) {
    check_name(name, "parameter");
    if (name == "target" || name == "schedule")
        throw Error("no parameter can be called " + name + ": " + name +
                    "=... is the command line's own.\nLegal: another name");
    if (!Recorder::open) return;
    for (auto *other : Recorder::open->parameters)
        if (other->name == name)
            throw Error("two parameters are called " + name + ".\nLegal: a name of its own for each");
    Recorder::open->parameters.push_back(this);
}

namespace {

template <class T>
struct NumberText {
    const char *type, *legal;
    T(*convert)
    (const std::string &, size_t *used);
};
template <class T>
const NumberText<T> number_text{};
template <>
const NumberText<int> number_text<int>{
    "int", "integers of 32 bits", [](const std::string &s, size_t *used) { return std::stoi(s, used); }};
template <>
const NumberText<int64_t> number_text<int64_t>{
    "int64", "integers of 64 bits", [](const std::string &s, size_t *used) { return int64_t(std::stoll(s, used)); }};
template <>
const NumberText<float> number_text<float>{
    "float", "numbers that a float holds, as 0.5", [](const std::string &s, size_t *used) { return std::stof(s, used); }};
template <>
const NumberText<double> number_text<double>{
    "double", "numbers that a double holds, as 0.5", [](const std::string &s, size_t *used) { return std::stod(s, used); }};

}  // namespace

template <class T>
void GeneratorParam<T>::set_from_text(const std::string &text) {
    auto refuse = [&](const std::string &legal) {
        throw Error("parameter " + name + ": '" + text + "' is not a value it can take.\nLegal: " + legal);
    };
    if constexpr (std::is_same_v<T, Type>) {
        try {
            v = parse_type(text);
        } catch (const Error &e) { throw Error("parameter " + name + ": " + e.what()); }
    } else if constexpr (std::is_same_v<T, bool>) {
        if (text != "true" && text != "false") refuse(name + "=true, " + name + "=false");
        v = text == "true";
    } else {
        size_t used = 0;
        try {
            v = number_text<T>.convert(text, &used);
        } catch (const std::exception &) { used = 0; }
        if (used != text.size() || text.empty()) refuse(number_text<T>.legal);
    }
}

template <class T>
std::string GeneratorParam<T>::text() const {
    if constexpr (std::is_same_v<T, Type>) return type_name(v);
    std::ostringstream o;
    o << std::boolalpha << v;
    return o.str();
}

template <class T>
std::string GeneratorParam<T>::type_text() const {
    if constexpr (std::is_same_v<T, Type>) return "type";
    else if constexpr (std::is_same_v<T, bool>) return "bool";
    else return number_text<T>.type;
}

template class GeneratorParam<Type>;
template class GeneratorParam<bool>;
template class GeneratorParam<int>;
template class GeneratorParam<int64_t>;
template class GeneratorParam<float>;
template class GeneratorParam<double>;

}  // namespace stretto
