// Block sums ride in the sweep that computes their operand, and all exchanges share one wait: the optimizers that need norms
// take two loops over their tensors and two waits, however many tensors there are.
#include <doctest/doctest.h>
#include <optional>
#include "collectives/plan/validate.h"
#include "lower/generator/check.h"
#include "lower/loop_nest.h"
#include "lower/lower.h"
#include "tests/worlds/worlds.h"

using namespace stretto;

namespace {

constexpr int count = 3;

// A step over three tensors that is scaled by norms: of all gradients (a clip), or of each tensor (LAMB's trust ratio).
struct Step {
    bool lamb;
    Var i{"i"};
    std::vector<Size> sizes;
    std::vector<Input<Tensor>> g;
    std::vector<InOut<Tensor>> p, m;
    std::vector<Tensor> sum, u, m1, un, pn, next;
    Tensor total{"total"};
    std::optional<Program> program;

    explicit Step(bool lamb) : lamb(lamb) {
        std::vector<ArgumentRef> arguments;
        Expr squares = 0.0f;
        for (int k = 0; k < count; k++) {
            const size_t at = size_t(k);
            const std::string number = std::to_string(k);
            sizes.emplace_back("n" + number);
            const std::vector<Extent> extents{sizes.back()};
            g.emplace_back("g" + number, f32, extents, partial(Sum));
            p.emplace_back("p" + number, f32, extents);
            m.emplace_back("m" + number, f32, extents);
            auto add = [&](auto &list, const char *name) { list.emplace_back(name + number); };
            add(sum, "sum"), add(u, "u"), add(m1, "new_m"), add(un, "un"), add(pn, "pn"), add(next, "next");
            arguments.push_back(g.back());
            arguments.push_back(p.back());
            arguments.push_back(m.back());
            sum[at] = all_reduce(g[at]);
            m1[at](i) = 0.9f * m[at](i) + sum[at](i) / ranks();
            u[at](i) = m1[at](i) * 0.5f + p[at](i) * 0.01f;
            un[at]() = sum_over(i, u[at](i) * u[at](i));
            pn[at]() = sum_over(i, p[at](i) * p[at](i));
            squares = squares + un[at]();
        }
        total() = sqrt(squares);
        for (int k = 0; k < count; k++) {
            const size_t at = size_t(k);
            Expr scale = lamb ? select(un[at]() > 0.0f && pn[at]() > 0.0f, sqrt(pn[at]()) / sqrt(un[at]()), 1.0f)
                              : 1.0f / max(total(), 1.0f);
            next[at](i) = p[at](i) - 0.01f * scale * u[at](i);
            update(p[at], next[at]);
            update(m[at], m1[at]);
        }
        program.emplace(lamb ? "lamb" : "clip", arguments);
    }
    Schedule fused() {
        Schedule s(*program);
        for (int k = 0; k < count; k++) {
            const size_t at = size_t(k);
            if (lamb) s.slice(pn[at]);
            auto [rs, ag] = s.split(sum[at]);
            s.reorder(ag, {m1[at], u[at], un[at], next[at]});
            s.as_slice(m[at]);
            if (lamb) s.fuse({rs, m1[at], u[at], un[at], pn[at]});
        }
        s.fuse_all();
        return s;
    }
};

size_t occurrences(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
    return n;
}

}  // namespace

TEST_CASE("LAMB and a clip over three tensors: two loops over each, two waits") {
    for (bool lamb : {false, true}) {
        Step step(lamb);
        Schedule s = step.fused();
        Lowering l = lower_to_stages(s.graph());
        const std::string loops = loop_nest(l);
        INFO(s.text() << loops);
        for (int k = 0; k < count; k++) CHECK(occurrences(loops, "in slice of n" + std::to_string(k) + ":") == 2);
        CHECK(occurrences(loops, "in slice of n") == 2 * count);
        CHECK(occurrences(loops, "barrier") == 2);
        int riders = 0;
        for_each_stage(l.items, [&](const Stage &stage) { riders += stage.rides; });
        CHECK(riders == (lamb ? 2 : 1) * count);

        // The runtime waits so often, too.
        Compiled f = compile(*step.program, s);
        run(threads(2), [&](Communicator &c) {
            const int64_t n = 10000;
            auto [begin, end] = c.slice(n);
            std::vector<std::vector<float>> data;
            for (int k = 0; k < 3 * count; k++) data.emplace_back(size_t(k % 3 == 2 ? end - begin : n), 0.5f);
            auto &d = data;
            for (int call = 0; call < 2; call++) f(c, d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8]);
            CHECK(c.stats().barriers == 2 * 3);  // one of a call's as they enter
        });
    }
}

TEST_CASE("they have the bits of the reference, on threads and on messages, in one chunk and in several") {
    for (bool lamb : {false, true})
        for (bool messages : {false, true}) {
            Step step(lamb);
            Schedule s = step.fused();
            CheckOptions o;
            o.ranks = {1, 2, 3, 5};
            o.world = messages ? test::message_world : threads;
            o.sizes = {0, 1, 3, 4095, 4096, 4097, 20001};
            CheckReport report = check(*step.program, s, o);
            CHECK_MESSAGE(report.ok(), to_string(report));
        }
}

TEST_CASE("in a sweep over all elements each block is summed up, of one dimension and of two") {
    Size n{"n"}, w{"w"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {n, w}};
    Output<Tensor> y{"y", f32, {n, w}}, total{"total", f32, {}}, largest{"largest", f32, {}};
    y(i, j) = x(i, j) * 2.0f + 1.0f;
    total() = sum_over({i, j}, y(i, j) * y(i, j));
    largest() = max_over({i, j}, y(i, j));
    Program p{"p", {x, y, total, largest}};
    Schedule s(p);
    s.fuse_all();
    Lowering l = lower_to_stages(s.graph());
    int riders = 0;
    for_each_stage(l.items, [&](const Stage &stage) { riders += stage.rides; });
    CHECK(riders == 2);
    for (bool messages : {false, true}) {
        CheckOptions o;
        o.ranks = {1, 2, 3};
        o.world = messages ? test::message_world : threads;
        o.sizes = {0, 1, 7, 64, 1000};
        CheckReport report = check(p, s, o);
        CHECK_MESSAGE(report.ok(), to_string(report));
    }
}
