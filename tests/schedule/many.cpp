// Programs with hundreds of tensors: schedules take time in proportion to them.
#include <doctest/doctest.h>
#include <chrono>
#include <cstdio>
#include "schedule/partition.h"
#include "schedule/schedule.h"

using namespace stretto;

// SGD with momentum, each parameter scaled by the norm of all gradients.
static Program clipped(int tensors) {
    Size n{"n"};
    Var i{"i"};
    std::vector<ArgumentRef> arguments;
    std::vector<Tensor> sums;
    std::vector<std::pair<InOut<Tensor>, InOut<Tensor>>> states;
    Tensor norm{"norm"};
    Expr squares = 0.0f;
    for (int k = 0; k < tensors; k++) {
        std::string number = std::to_string(k);
        Input<Tensor> g{"g" + number, f32, {n}, partial(Sum)};
        states.push_back({InOut<Tensor>{"p" + number, f32, {n}}, InOut<Tensor>{"m" + number, f32, {n}}});
        sums.emplace_back("sum" + number);
        sums.back() = all_reduce(g);
        Tensor square{"square" + number};
        square() = sum_over(i, sums.back()(i) * sums.back()(i));
        squares = squares + square();
        for (const ArgumentRef &a : {ArgumentRef(g), ArgumentRef(states.back().first), ArgumentRef(states.back().second)})
            arguments.push_back(a);
    }
    norm() = sqrt(squares);
    for (int k = 0; k < tensors; k++) {
        auto &[p, m] = states[size_t(k)];
        Tensor m1{"next_m" + std::to_string(k)}, p1{"next_p" + std::to_string(k)};
        m1(i) = 0.9f * m(i) + sums[size_t(k)](i) / max(norm(), 1.0f);
        p1(i) = p(i) - 0.1f * m1(i);
        update(m, m1);
        update(p, p1);
    }
    return Program("clipped", arguments);
}

static double seconds(const char *what, const std::function<void()> &f) {
    auto begin = std::chrono::steady_clock::now();
    f();
    double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%s: %.2f s\n", what, s);
    return s;
}

TEST_CASE("300 all-reduced tensors") {
    std::optional<Program> p;
    seconds("program", [&] { p.emplace(clipped(300)); });
    Schedule s(*p);
    seconds("stages", [&] { CHECK(partition(settle_transfers(s.graph())).stages.size() > 300); });
    seconds("fuse_all", [&] { s.fuse_all(); });
    std::string text;
    seconds("text", [&] { text = s.text(); });
    seconds("parse", [&] { CHECK(Schedule::parse(*p, text).text() == text); });
    Schedule one(*p);
    seconds("split and reorder of one", [&] {
        one.add(Split{one.graph().find("sum7")->id, 0});
        one.add(Reorder{one.graph().find("sum7.ag")->id, {one.graph().find("square7")->id, one.graph().find("next_m7")->id}});
    });
    seconds("a message", [&] { CHECK_THROWS_AS(one.add(Split{one.graph().find("next_m7")->id, 0}), Error); });
}
