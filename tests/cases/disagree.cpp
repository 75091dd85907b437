// Ranks that disagree about what they call: every rank is told, nobody waits for the deadline.
#include "jit.h"
#include "tests/sleeping.h"

#include <atomic>
#include <thread>

using namespace stretto;
using namespace stretto::test;

namespace {

Compiled reduction(const Type &t, const std::string &name) {
    Size n{"n"};
    Input<Tensor> g{"g", t, {n}, partial(Sum)};
    Output<Tensor> out{"out", t, {n}};
    out = all_reduce(g);
    return compile(Program{name, {g, out}});
}

void all_told(const std::vector<std::string> &texts, const std::vector<std::string> &parts) {
    for (auto &text : texts) {
        CHECK_MESSAGE(text.find("STRETTO_MISMATCH") == 0, text);
        for (auto &part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, text);
    }
}

}  // namespace

TEST_CASE("types: bf16[1] on rank 0, f32[1] on the others") {
    Compiled narrow = reduction(bf16, "reduce_bf16"), wide = reduction(f32, "reduce_f32");
    all_told(errors_of(3,
                       [&](Communicator &c) {
                           std::vector<bfloat16> g(1), out(1);
                           std::vector<float> wide_g(1), wide_out(1);
                           if (c.rank() == 0) narrow(c, g, out);
                           else wide(c, wide_g, wide_out);
                       }),
             {"reduce_bf16", "reduce_f32"});
}

TEST_CASE("the same name, another type: the programs differ") {
    Compiled narrow = reduction(bf16, "reduce"), wide = reduction(f32, "reduce");
    all_told(errors_of(2,
                       [&](Communicator &c) {
                           std::vector<bfloat16> g(1), out(1);
                           std::vector<float> wide_g(1), wide_out(1);
                           if (c.rank() == 0) narrow(c, g, out);
                           else wide(c, wide_g, wide_out);
                       }),
             {"reduce"});
}

TEST_CASE("shapes: 409600 elements against 409598; one row against two") {
    Compiled f = reduction(f32, "reduce");
    all_told(errors_of(2,
                       [&](Communicator &c) {
                           std::vector<float> g(c.rank() ? 409598 : 409600), out(g.size());
                           f(c, g, out);
                       }),
             {"409600", "409598", "n"});
    Size rows{"rows"}, columns{"columns"};
    Input<Tensor> g{"g", f32, {rows, columns}, partial(Sum)};
    Output<Tensor> out{"out", f32, {rows, columns}};
    out = all_reduce(g);
    Compiled m = compile(Program{"matrix", {g, out}});
    all_told(errors_of(2,
                       [&](Communicator &c) {
                           std::vector<float> g(8), out(8);
                           if (c.rank()) m(c, view(g.data(), {2, 4}), view(out.data(), {2, 4}));
                           else m(c, view(g.data(), {1, 8}), view(out.data(), {1, 8}));
                       }),
             {"rank 0 has 1, rank 1 has 2"});
}

TEST_CASE("order: two all-reduces of 53 and 25503 elements, swapped on one rank") {
    Compiled f = reduction(f32, "reduce");
    all_told(errors_of(3,
                       [&](Communicator &c) {
                           std::vector<float> a(53), b(25503), out(53), out_b(25503);
                           if (c.rank() == 1) f(c, b, out_b), f(c, a, out);
                           else f(c, a, out), f(c, b, out_b);
                       }),
             {"53", "25503"});
}

TEST_CASE("six threads on communicators of their own are right; a second one on the same is refused") {
    Compiled f = reduction(f32, "reduce");
    std::vector<std::thread> pairs;
    for (int t = 0; t < 3; t++)
        pairs.emplace_back([&, t] {
            run(threads(2), [&](Communicator &c) {
                std::vector<float> g(1000, float(t + c.rank())), out(1000);
                for (int k = 0; k < 20; k++) {
                    f(c, g, out);
                    if (out[999] != float(2 * t + 1)) FAIL_CHECK(out[999]);
                }
            });
        });
    for (auto &p : pairs) p.join();
    // Rank 0 waits inside its call for rank 1; meanwhile another thread tries rank 0's communicator.
    std::vector<Communicator> world = threads(2);
    std::vector<float> g(4, 1), out(4), out1(4);
    std::atomic<pid_t> thread{0};
    std::thread waiting([&] {
        thread = this_thread();
        f(world[0], g, out);
    });
    CHECK(falls_asleep(thread));
    CHECK(stretto_barrier(world[0]) == STRETTO_BUSY);
    f(world[1], g, out1);
    waiting.join();
    CHECK(out == out1);
}
