// Three hundred all-reduced tensors in one program: equal bodies share their kernels.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
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
