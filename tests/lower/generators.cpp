// Generators that are wrong, and checks that would compare nothing: each is refused in words, and no other is lost with it.
#include <stretto/stretto.h>
#include "command.h"
#include "lower/generator/c_names.h"

using namespace stretto;
using test::command, test::Folder, test::Outcome;

namespace {

// y(i) = x(i) * by, with names to choose.
template <class T>
struct Named : Generator<T> {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x;
    Input<float> by;
    Output<Tensor> y{"y", f32, {n}};
    Named(const std::string &tensor, const std::string &scalar) : x(tensor, f32, {n}), by(scalar) {}
    void algorithm() { y(i) = x(i) * by; }
};

struct Good : Named<Good> {
    Good() : Named("x", "by") {}
};
STRETTO_REGISTER_GENERATOR(Good, good)
STRETTO_REGISTER_GENERATOR(Good, twin)
const RegisterGenerator second("twin", [] { return std::make_unique<Good>(); });

struct Comm : Named<Comm> {
    Comm() : Named("comm", "by") {}
};
STRETTO_REGISTER_GENERATOR(Comm, comm)
struct Word : Named<Word> {
    Word() : Named("x", "class") {}
};
STRETTO_REGISTER_GENERATOR(Word, word)

struct TwoSchedules : Named<TwoSchedules> {
    TwoSchedules() : Named("x", "by") {}
    NamedSchedule one{"one", [](Schedule &) {}}, other{"one", [](Schedule &) {}};
};
STRETTO_REGISTER_GENERATOR(TwoSchedules, two_schedules)
struct TwoParameters : Named<TwoParameters> {
    TwoParameters() : Named("x", "by") {}
    GeneratorParam<int> one{"one", 1}, other{"one", 2};
};
STRETTO_REGISTER_GENERATOR(TwoParameters, two_parameters)
struct OwnTarget : Named<OwnTarget> {
    OwnTarget() : Named("x", "by") {}
    GeneratorParam<int> own{"target", 1};
};
STRETTO_REGISTER_GENERATOR(OwnTarget, own_target)
struct Undefined : Named<Undefined> {
    Undefined() : Named("x", "by") {}
    void algorithm() { y(i) = x(i) + Expr(); }
};
STRETTO_REGISTER_GENERATOR(Undefined, undefined)
struct UndefinedMember : Named<UndefinedMember> {
    UndefinedMember() : Named("x", "by") {}
    Expr half = Expr() * 0.5f;
};
STRETTO_REGISTER_GENERATOR(UndefinedMember, undefined_member)

// y(i) = w(clamp(k(i), 0, m - 1)): a lookup, which has no meaning in a table without entries.
struct Lookup : Generator<Lookup> {
    Size n{"n"}, m{"m"};
    Var i{"i"};
    Input<Tensor> k{"k", i32, {n}}, w{"w", f32, {m}};
    Output<Tensor> y{"y", f32, {n}};
    void algorithm() { y(i) = w(clamp(k(i), 0, cast<int32_t>(Expr(m)) - 1)); }
};
STRETTO_REGISTER_GENERATOR(Lookup, lookup)

// Requirements that few draws meet: of a scalar, between scalars, of sizes; and one that none does.
struct Required : Generator<Required> {
    GeneratorParam<bool> never{"never", false};
    Size n{"n"}, m{"m"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {n}}, u{"u", f32, {m}};
    Input<float> a{"a"}, b{"b"};
    Input<int> c{"c"};
    Output<Tensor> y{"y", f32, {n}}, z{"z", f32, {m}};
    void algorithm() {
        require(a > 100 && b < -3, "a is large and b is negative");
        require(c % 7 == 5, "c is 5 more than a multiple of 7");
        require(n % (8 * ranks()) == 0 && n > 0, "n divides into blocks of 8");
        require(m == n, "u is as long as x");
        if (never) require(a < 0 && a > 0, "a has no value");
        y(i) = x(i) * a + b;
        z(j) = u(j) * cast<float>(Expr(c));
    }
};
STRETTO_REGISTER_GENERATOR(Required, required)

bool says(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

void refused(const std::string &line, const std::vector<std::string> &parts) {
    Outcome o = command(line);
    CHECK_MESSAGE(o.status == 1, line);
    for (auto &part : parts) CHECK_MESSAGE(says(o.err, part), line << "\n"
                                                                   << o.err);
}

}  // namespace

TEST_CASE("B11: a generator that cannot be made is named with its fault, and the others are listed") {
    Outcome o = command("");
    CHECK(o.status == 1);
    for (std::string name : {"good\n", "comm\n", "required\n", "lookup\n"}) CHECK_MESSAGE(says(o.out, name), o.out);
    CHECK(says(o.err, "In generator two_schedules: two schedules are called one."));
    CHECK(says(o.err, "In generator undefined_member: In an expression: "));
    CHECK(says(o.err, "In generator twin: two generators have this name."));
    refused("-g undefined --check 1", {"In generator undefined: In an expression: ", "undefined"});
    CHECK(command("-g good --check 1,2").status == 0);
}

TEST_CASE("B5: parameters of one name, or of the command line's, and generators of one name") {
    refused("-g two_parameters --check 1", {"two parameters are called one", "Legal: a name of its own"});
    refused("-g own_target --check 1", {"no parameter can be called target", "Legal: another name"});
    refused("-g twin --check 1", {"two generators have this name", "Legal: a name of its own"});
}

TEST_CASE("B5: options without effect") {
    refused("-g good --check 1 -o x", {"-o would have no effect: --check runs", "with --check: --check, --check-sizes"});
    refused("-g good --check 1 -f x", {"-f would have no effect"});
    refused("-g good --check 1 -e plan", {"-e would have no effect"});
    refused("-g good --check-streaming -o x", {"--check-streaming would have no effect: -g writes files"});
    refused("-r run -g good -o x", {"-g would have no effect: -r writes Halide's runtime"});
    refused("-r run -o x schedule=fused", {"no schedule or parameter changes"});
    refused("-f x", {"-f would have no effect: without -g the program lists generators", "-f with -g"});
    refused("--check 1", {"--check without a generator"});
}

TEST_CASE("B5: a lookup is checked at all sizes at which its table has entries") {
    Outcome o = command("-g lookup --check 1,2,3");
    CHECK_MESSAGE(o.status == 0, o.out << o.err);
    CHECK(says(o.out, "y: 0 of "));
    CHECK(says(o.out, "left out: they would read elements of a tensor that has none"));
    o = command("-g lookup --check 2 --check-sizes 0");  // n = 0 has nothing to compare, m = 0 nothing to read
    CHECK(o.status == 2);
    CHECK_MESSAGE(says(o.out, "was compared.\nLegal: sizes"), o.out);
}

TEST_CASE("B6: names that C or C++ has for itself are refused, with another proposed") {
    Folder folder;
    const std::string to = " -e c_header -o " + folder.path.string();
    refused("-g comm" + to, {"'comm' is the function's first parameter", "as comm_value"});
    refused("-g word" + to, {"'class' is a word of C or C++", "as class_value"});
    refused("-g good -f main" + to, {"'main' is a word of C or C++", "as -f run_main"});
    refused("-g good -f malloc" + to, {"'malloc' is a name of the C library", "as -f run_malloc"});
    refused("-g good -f exp" + to, {"'exp' is a name of the C library"});
    refused("-g good -f a__b" + to, {"reserved for C and C++ compilers", "as -f a_b"});
    refused("-g good -f _good" + to, {"reserved for C and C++ compilers", "as -f good"});
    refused("-g good -f stretto_init" + to, {"of the runtime's kind"});
    CHECK(std::filesystem::is_empty(folder.path));
    CHECK(command("-g good" + to).status == 0);
    for (std::string name : {"int", "register", "restrict", "constexpr", "int64_t", "INT32_MAX", "linux", "_X", "a__b"})
        CHECK_MESSAGE(c_name_fault(name, false) != "", name);
    for (std::string name : {"x", "malloc", "exp", "_x", "integer", "p1"}) CHECK_MESSAGE(c_name_fault(name, false) == "", name);
}

TEST_CASE("C5: inputs and sizes are drawn so that requirements hold") {
    Outcome o = command("-g required --check 1,2,3");
    CHECK_MESSAGE(o.status == 0, o.out << o.err);
    CHECK_MESSAGE(!says(o.out, "refused"), o.out);
}

TEST_CASE("C5: a check that compares nothing fails, and says what to give") {
    Outcome o = command("-g required --check 1,2 never=true");
    CHECK(o.status == 2);
    CHECK_MESSAGE(says(o.out, "of them refused: the requirement 'a has no value' does not hold"), o.out);
    CHECK_MESSAGE(says(o.out, "Nothing was compared.\nLegal: sizes"), o.out);
    o = command("-g good --check 1,2 --check-sizes 0");
    CHECK(o.status == 2);
    CHECK_MESSAGE(says(o.out, "Nothing of y was compared."), o.out);
    CHECK(command("-g good --check 1,2 --check-sizes 0,5").status == 0);
}
