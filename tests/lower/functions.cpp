// Programs with mathematical functions: no kernel calls a C library for one, and kernels agree with the reference.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include "lower/generator/artefact.h"

using namespace stretto;

namespace {

// y(i) = the sum of all functions of x(i).
Program all_functions(Type t) {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", t, {n}}, z{"z", t, {n}};
    Output<Tensor> y{"y", t, {n}};
    Expr a = x(i), b = z(i), c = Halide::cast(t, 0.5f) * a;
    y(i) = exp(a) + log(a) + pow(a, b) + a % b + sin(a) + cos(a) + tan(a) + asin(c) + acos(c) + atan(a) + atan2(a, b) +
           sinh(a) + cosh(a) + tanh(a) + asinh(a) + acosh(a) + atanh(c) + stretto::erf(a) + sqrt(a) + abs(a) + max(a, b) +
           min(a, b) + fast_exp(a) + fast_pow(a, b) + Halide::cast(t, Halide::fast_inverse(Halide::cast<float>(a)));
    return Program{"all_functions", {x, z, y}};
}

// What the archive's objects leave to others.
std::set<std::string> undefined_symbols(const std::string &archive) {
    std::set<std::string> names;
    FILE *f = popen(("nm -u " + archive).c_str(), "r");
    REQUIRE(f);
    char line[1000];
    while (std::fgets(line, sizeof line, f)) {
        char name[1000];
        if (std::sscanf(line, " U %999s", name) == 1) names.insert(name);
    }
    CHECK(pclose(f) == 0);
    return names;
}

}  // namespace

TEST_CASE("no kernel calls a C library for a function, whatever the machine has") {
    const std::string here = std::filesystem::temp_directory_path() / "stretto_functions_XXXXXX";
    std::string folder = here;
    REQUIRE(mkdtemp(folder.data()));
    std::vector<std::string> targets = {"host"};
    if (Halide::get_host_target().arch == Halide::Target::X86) targets.push_back("x86-64-linux");
    for (Type t : {f32, f64})
        for (auto &target : targets) {
            Program p = all_functions(t);
            write_artefact(p, Schedule(p), {"all_functions", folder, {"static_library"}, target});
            std::set<std::string> names = undefined_symbols(folder + "/all_functions.a");
            CHECK(names.count("stretto_execute_v1") == 1);
            for (auto &name : names)
                CHECK_MESSAGE((name.rfind("halide_", 0) == 0 || name.rfind("stretto_", 0) == 0 || name.rfind("mem", 0) == 0),
                              "a kernel for " << target << " calls " << name);
        }
    std::filesystem::remove_all(folder);
}

TEST_CASE("kernels of all functions have the reference's bits") {
    for (Type t : {f32, f64}) {
        Program p = all_functions(t);
        CheckOptions o;
        o.ranks = {1, 3};
        CheckReport r = check(p, Schedule(p), o);
        CHECK_MESSAGE(r.ok(), to_string(r));
    }
}

TEST_CASE("the time that a kernel of three functions takes to compile") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    Output<Tensor> y{"y", f32, {n}};
    y(i) = tanh(x(i)) + stretto::erf(x(i)) * pow(x(i), 1.5f);
    Program p{"three", {x, y}};
    auto begin = std::chrono::steady_clock::now();
    compile(p, Schedule(p));
    std::printf("tanh, erf and pow: compiled in %.2f s\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
