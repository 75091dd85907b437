// Random programs run by the reference. What can be said without a second implementation: they are
// legal, the same seed gives the same program, replicated results are the same on all ranks, the
// interpreter reads no element that a rank does not have; and every operation occurs.
#include <doctest/doctest.h>
#include "lang/print.h"
#include "lang/reference/random_inputs.h"
#include "tests/random/random_program.h"

#include <cmath>
#include <cstdio>
#include <set>

using namespace stretto;

namespace {

const int programs = 300;

}  // namespace

TEST_CASE("random programs run, agree between ranks, and use every operation") {
    OperationCounts total;
    int64_t elements = 0, nans = 0;
    for (uint64_t seed = 0; seed < programs; seed++) {
        RandomProgram r = random_program(seed);
        for (auto &[name, n] : r.operations) total[name] += n;
        const Graph &g = r.program.graph();
        int ranks = 1 + int(seed % 5);
        auto sizes = random_sizes(g, ranks, seed);
        RunInputs in = random_inputs(g, sizes, ranks, seed);
        RunResult out;
        try {
            out = interpret(g, ranks, in);
        } catch (const std::exception &e) {
            FAIL("seed " << seed << ": " << e.what() << "\n"
                         << to_string(g));
        }
        for (auto &a : g.arguments) {
            if (a.scalar || a.access == Access::Input) continue;
            auto &t = out.arguments.at(a.name);
            CHECK(t.size() == size_t(ranks));
            for (auto &x : t) {
                if (a.layout.is_replicated()) CHECK(same_bits(x, t[0]));
                elements += x.count();
                for (int64_t p = 0; p < x.count(); p++) nans += std::isnan(x.get(p));
            }
        }
    }
    for (auto &[name, n] : total) std::printf("%6lld  %s\n", static_cast<long long>(n), name.c_str());
    std::printf("%d programs, %lld elements of results, of which %lld are NaN\n", programs,
                static_cast<long long>(elements), static_cast<long long>(nans));
    for (auto &name : operation_names()) CHECK_MESSAGE(total[name] > 0, name << " never occurred");
    CHECK(total.size() == operation_names().size());
    CHECK(nans * 10 < elements);
}

TEST_CASE("the same seed gives the same program and inputs, another seed others") {
    auto text = [](uint64_t seed) { return to_string(random_program(seed).program.graph()); };
    CHECK(text(7) == text(7));
    CHECK(text(7) != text(8));
    Program p = random_program(7).program;
    auto sizes = random_sizes(p.graph(), 3, 1);
    RunInputs a = random_inputs(p.graph(), sizes, 3, 1), b = random_inputs(p.graph(), sizes, 3, 1);
    for (auto &[name, tensors] : a.tensors)
        for (int r = 0; r < 3; r++) CHECK(tensors[size_t(r)].bytes == b.tensors[name][size_t(r)].bytes);
}

TEST_CASE(
    "random inputs are distinct in rank and index, within the range, and do not depend on the "
    "slicing") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, w{"w", f32, {n}}, x{"x", f32, {n}, sliced(0)},
        q{"q", u8, {n}};
    g.range(3, 4), q.range(7, 9);
    Output<Tensor> o{"o", f32, {n}};
    Tensor t{"t"}, whole{"whole"};
    t = all_reduce(g);
    whole = all_gather(x);
    o(i) = t(i) + w(i) + whole(i) + cast<float>(q(i));
    Program p{"p", {g, w, x, q, o}};
    RunInputs four = random_inputs(p.graph(), {{"n", 100}}, 4, 5),
              one = random_inputs(p.graph(), {{"n", 100}}, 1, 5);
    std::set<double> seen;
    for (auto &part : four.tensors["g"])
        for (int64_t k = 0; k < 100; k++) {
            CHECK((part.get(k) >= 3 && part.get(k) <= 4));
            seen.insert(part.get(k));
        }
    CHECK(seen.size() == 400);
    for (int64_t k = 0; k < 100; k++) {
        double byte = four.tensors["q"][0].get(k);
        CHECK((byte >= 7 && byte <= 9));
    }
    for (auto &part : four.tensors["x"])
        for (int64_t k = 0; k < part.count(); k++)
            CHECK(part.get(k) == one.tensors["x"][0].get(part.begin[0] + k));
    CHECK(same_bits(four.tensors["w"][3], one.tensors["w"][0]));
}

TEST_CASE("special values, where they are asked for, in float tensors without a range") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", bf16, {n}}, y{"y", f64, {n}}, z{"z", f32, {n}}, q{"q", i32, {n}};
    z.range(3, 4);
    Output<Tensor> o{"o", f64, {n}};
    o(i) = cast<double>(x(i)) + y(i) + cast<double>(z(i)) + cast<double>(q(i));
    Program p{"p", {x, y, z, q, o}};
    RunInputs none = random_inputs(p.graph(), {{"n", 4000}}, 1, 5), some = random_inputs(p.graph(), {{"n", 4000}}, 1, 5, 20);
    for (const char *name : {"x", "y"}) {
        int nan = 0, infinite = 0, zero = 0, same = 0;
        for (int64_t k = 0; k < 4000; k++) {
            double a = some.tensors[name][0].get(k);
            nan += std::isnan(a), infinite += std::isinf(a), zero += a == 0, same += a == none.tensors[name][0].get(k);
        }
        for (int count : {nan, infinite, zero}) CHECK(count > 40);
        CHECK((same > 3100 && same < 3300));
    }
    for (const char *name : {"z", "q"}) CHECK(same_bits(none.tensors[name][0], some.tensors[name][0]));
}
