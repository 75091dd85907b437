// The LLVM code of kernels: which instructions may be computed otherwise than IEEE 754 says.
#include <doctest/doctest.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include "lang/order.h"
#include "lower/halide_adapter.h"
#include "lower/lower.h"
#include "tests/programs.h"

using namespace stretto;

namespace {

// The instructions of `lib` that have a fast-math flag: "fmul contract", each kind once.
std::set<std::string> loose(const Halide::Module &lib) {
    char path[] = "/tmp/stretto-code-XXXXXX";
    close(mkstemp(path));
    lib.compile({{Halide::OutputFileType::llvm_assembly, path}});
    std::ifstream in(path);
    std::set<std::string> found;
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string word, text;
        bool flag = false;
        std::string op;
        while (words >> word) {
            if (word[0] == '%' || word == "=" || word == "tail") continue;
            if (op.empty()) op = word;
            if (word == "fast" || word == "nnan" || word == "ninf" || word == "reassoc" || word == "afn" || word == "arcp" ||
                word == "nsz" || word == "contract") {
                flag = true;
                text += " " + word;
            } else if (flag) {
                text += " " + word;
                if (op == "call" && word.find('@') == std::string::npos) continue;
                break;
            }
        }
        if (flag) found.insert(op + text);
    }
    unlink(path);
    return found;
}

// Every function and operator of floats that a program can write, of type t.
Program of_functions(const Type &t) {
    Size n{"n"};
    Var i{"i"}, k{"k"};
    Input<Tensor> x{"x", t, {n}}, y{"y", t, {n}}, m{"m", t, {n, n}};
    std::vector<Expr> values = {
        sqrt(x(i)), abs(x(i)),
        floor(x(i)), ceil(x(i)),
        round(x(i)), trunc(x(i)),
        exp(x(i)), log(x(i)),
        sin(x(i)), cos(x(i)),
        tan(x(i)), asin(x(i)),
        acos(x(i)), atan(x(i)),
        sinh(x(i)), cosh(x(i)),
        tanh(x(i)), erf(x(i)),
        pow(x(i), y(i)), atan2(x(i), y(i)),
        x(i) + y(i), x(i) - y(i),
        x(i) * y(i), x(i) / y(i),
        x(i) % y(i), -x(i),
        max(x(i), y(i)), min(x(i), y(i)),
        clamp(x(i), -1, 1), select(x(i) < y(i), x(i), y(i)),
        select(x(i) >= y(i) || x(i) != x(i), x(i), y(i)),
        Halide::lerp(x(i), y(i), cast(t.bits() == 64 ? f64 : f32, 0.25f)),
        select(Halide::is_nan(x(i)), x(i), y(i)),
        select(Halide::is_inf(x(i)) || !Halide::is_finite(y(i)), x(i), y(i)),
        cast(t, cast<int32_t>(x(i))),
        cast(t, cast<uint8_t>(x(i)))};
    std::vector<ArgumentRef> arguments{x, y, m};
    std::vector<std::unique_ptr<Output<Tensor>>> outputs;
    auto output = [&](const Expr &e) {
        outputs.push_back(std::make_unique<Output<Tensor>>("o" + std::to_string(outputs.size()), t, std::vector<Extent>{n}));
        (*outputs.back())(i) = cast(t, e);
        arguments.push_back(*outputs.back());
    };
    for (auto &e : values) output(e);
    output(max_over(k, m(i, k)));
    output(norm2(k, m(i, k)));
    output(prod_over(k, m(k, i)));
    return Program("functions", arguments);
}

// The only instructions that may have flags: the multiply-add of a contraction where the target fuses it, and conversions,
// which compute no value that the flags speak of (lower/conversions.h).
bool is_known(const std::string &instruction, bool fuses) {
    const std::string op = instruction.substr(0, instruction.find(' '));
    return op == "fpext" || op == "fptrunc" || (fuses && (op == "fmul" || op == "fadd"));
}

}  // namespace

TEST_CASE("kernels have no instruction that may be computed otherwise than IEEE 754 says") {
    for (std::string target : {"host", "x86-64-linux", "x86-64-linux-avx2-fma-f16c"}) {
        const bool all = target == "host" || std::getenv("STRETTO_LONG");  // else of each program two schedules
        LowerOptions o;
        o.target = parse_target(target);
        auto check = [&](const std::string &name, const Graph &g) {
            INFO(name << ", " << target);
            const bool contraction = std::any_of(g.nodes.begin(), g.nodes.end(), [](const Node &n) {
                return n.as<Reduction>() && order_of(n) == Order::Chain;
            });
            for (auto &instruction : loose(lower(g, o).module))
                CHECK_MESSAGE(is_known(instruction, contraction && has_fused_multiply_add(o.target)), instruction);
        };
        for (auto &[name, make] : test::all_programs()) {
            test::ScheduledProgram p = make();
            for (auto &[schedule, s] : p.schedules)
                if (all || schedule == "default" || schedule == p.schedules.back().first)
                    check(name + ", " + schedule, s.graph());
        }
        for (auto &t : {f16, bf16, f32, f64}) check(type_name(t), of_functions(t).graph());
    }
}
