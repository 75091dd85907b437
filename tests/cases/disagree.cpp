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
             {"ranks differ in the compiled program of reduce: rank 0 has `input bfloat16 g[n] partial(Sum)`, rank 1 has ",
              "`input float32 g[n] partial(Sum)`"});
}

TEST_CASE("D17: one name, and another layout, root, reduction, operation or constant: the text says which") {
    struct Choices {
        Layout layout = local;
        int root = 0;
        ReduceOp op = Sum;
        bool doubled = false;
        float rate = .5f;
    };
    auto made = [](const Choices &c) {
        Size n{"n"};
        Var i{"i"};
        Input<Tensor> x{"x", f32, {n}, local}, g{"g", f32, {n}, partial(c.op)}, a{"a", f32, {n}, c.layout};
        Input<float> lr{"lr"};
        Output<Tensor> o{"o", f32, {n}}, z{"z", f32, {n}, c.layout};
        Tensor b{"b"}, sum{"sum"};
        b = broadcast(x, c.root);
        sum = all_reduce(g);
        o(i) = b(i) * (c.doubled ? sum(i) + sum(i) : sum(i)) * (lr * c.rate);
        z(i) = a(i) + 1;
        return compile(Program{"p", {x, g, a, lr, o, z}});
    };
    auto told = [&](const Choices &on_rank_1, const std::vector<std::string> &parts) {
        Compiled programs[2] = {made({}), made(on_rank_1)};
        auto texts = errors_of(2, [&](Communicator &c) {
            std::vector<float> x(4), g(4), a(4), o(4), z(4);
            programs[c.rank()](c, x, g, a, 1.f, o, z);
        });
        CHECK(texts[0] == texts[1]);
        all_told(texts, parts);
    };
    Choices layout, root, op, doubled, rate;
    layout.layout = replicated;
    root.root = 1;
    op.op = Max;
    doubled.doubled = true;
    rate.rate = .25f;
    told(layout, {"rank 0 has `input float32 a[n] local`, rank 1 has `input float32 a[n] replicated`"});
    told(root, {"rank 0 has `b = broadcast(x, 0) replicated float32[n]`, rank 1 has `b = broadcast(x, 1) "});
    told(op, {"rank 0 has `input float32 g[n] partial(Sum)`, rank 1 has `input float32 g[n] partial(Max)`"});
    told(doubled, {"rank 0 has `o(i) = b(i) * sum(i) * (", "rank 1 has `o(i) = b(i) * (sum(i) + sum(i)) * ("});
    told(rate, {"rank 0 has `o(i) = b(i) * sum(i) * (", "0.5", "0.25"});
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
