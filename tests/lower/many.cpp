// Three hundred all-reduced tensors in one program: equal bodies share their kernels.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
#include <array>
#include <chrono>
#include <iostream>

using namespace stretto;

namespace {

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TEST_CASE("300 all-reduced tensors") {
    constexpr int count = 300;
    Var i{"i"};
    Input<float> lr{"lr"};
    std::vector<Size> sizes;
    std::vector<Input<Tensor>> g;
    std::vector<InOut<Tensor>> p;
    std::vector<Tensor> sum, next;
    std::vector<ArgumentRef> arguments;
    for (int k = 0; k < count; k++) {
        const std::string number = std::to_string(k);
        sizes.emplace_back("n" + number);
        g.emplace_back("g" + number, f32, std::vector<Extent>{sizes.back()}, partial(Sum));
        p.emplace_back("p" + number, f32, std::vector<Extent>{sizes.back()});
        sum.emplace_back("sum" + number);
        next.emplace_back("next" + number);
        arguments.push_back(g.back());
        arguments.push_back(p.back());
        sum.back() = all_reduce(g.back());
        next.back()(i) = p.back()(i) - lr * sum.back()(i) / ranks();
        update(p.back(), next.back());
    }
    arguments.push_back(lr);
    Program program("many", arguments);
    double begin = seconds();
    const Graph scheduled = Schedule(program).graph();
    Lowering l = lower_to_stages(scheduled);
    std::cout << "lowered and verified in " << seconds() - begin << " s\n";
    int stages = 0;
    for_each_stage(l.items, [&](const Stage &) { stages++; });
    CHECK(stages == 3 * count);  // two arms, and the update

    begin = seconds();
    Compiled f = compile(program);
    std::cout << "compiled in " << seconds() - begin << " s\n";
    CHECK(f.plan().cpu->kernels < 12);
    run(threads(2), [&](Communicator &c) {
        std::vector<std::vector<float>> data;
        std::vector<View> views;
        for (int k = 0; k < 2 * count; k++) data.emplace_back(size_t(10 + k / 2), k % 2 ? 1.0f : 2.0f);
        for (auto &d : data) views.emplace_back(d.data(), std::vector<int64_t>{int64_t(d.size())});
        float rate = 0.25f;
        std::vector<void *> argv;
        for (auto &v : views) argv.push_back(v.get());
        argv.push_back(&rate);
        REQUIRE(f.execute(c.get(), argv.data()) == 0);
        for (int k = 0; k < count; k++)
            for (float x : data[size_t(2 * k + 1)]) CHECK(x == 1.0f - 0.25f * 2.0f);
    });
}

TEST_CASE("B7: 8 dimensions are computed, more are refused in words") {
    auto program = [](int dimensions, int reduced) {
        std::vector<Var> i;
        for (int d = 0; d < dimensions; d++) i.emplace_back("i" + std::to_string(d));
        Input<Tensor> x("x", f32, std::vector<Extent>(size_t(dimensions), Extent(2)));
        Output<Tensor> y("y", f32, std::vector<Extent>(size_t(dimensions - reduced), Extent(2)));
        const TensorRef whole(x.definition(), {i.begin(), i.end()});
        TensorRef left(y.definition(), {i.begin(), i.end() - reduced});
        if (reduced) left = sum_over(std::vector<Var>(i.end() - reduced, i.end()), whole);
        else left = whole * 2.0f;
        return Program("wide", {x, y});
    };
    for (int reduced : {0, 3}) {
        Program p = program(8, reduced);
        CHECK(check(p, Schedule(p), {1, 2}).ok());
    }
    const char *refused = "In program wide: x has 9 dimensions.\nLegal: at most 8";
    CHECK_THROWS_WITH_AS(program(9, 0), refused, Error);
}

TEST_CASE("B7: a fused step of momentum over 10 tensors with long names") {
    constexpr int count = 10;
    Size n{"n"};
    Var i{"i"};
    Input<float> lr{"lr"};
    std::vector<ArgumentRef> arguments;
    std::vector<std::array<Tensor, 3>> steps;
    for (int k = 0; k < count; k++) {
        const std::string name = "layer" + std::to_string(k) + "_attention_output_projection_of_all_heads_after_the_residual";
        Input<Tensor> g{name + "_gradient", f32, {n}, partial(Sum)};
        InOut<Tensor> p{name, f32, {n}}, m{name + "_momentum", f32, {n}};
        Tensor sum{name + "_sum"}, m1{name + "_new_momentum"}, p1{name + "_new"};
        sum = all_reduce(g);
        m1(i) = 0.9f * m(i) + sum(i);
        p1(i) = p(i) - lr * m1(i);
        update(m, m1);
        update(p, p1);
        for (const ArgumentRef &a : {ArgumentRef(g), ArgumentRef(p), ArgumentRef(m)}) arguments.push_back(a);
        steps.push_back({sum, m1, p1});
    }
    arguments.push_back(lr);
    Program program("momentum", arguments);
    Schedule s(program);
    for (auto &[sum, m1, p1] : steps) s.reorder(s.split(sum).ag, {m1, p1});
    s.fuse_all();
    CheckOptions o;
    o.ranks = {2};
    o.sizes = {5};
    CHECK(check(program, s, o).ok());
}
