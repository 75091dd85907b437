// Which nodes are computed together, and that fuse counts the stages that there are.
#include <doctest/doctest.h>
#include "schedule/partition.h"
#include "schedule/schedule.h"
#include "tests/schedule/programs.h"

using namespace stretto;
using namespace stretto::test;

// The names of the nodes of each stage, a stage a line.
static std::string stages(const Schedule &s) {
    const Graph g = settle_transfers(s.graph());
    std::string text;
    for (auto &stage : partition(g).stages) text += names_of(g, stage) + "\n";
    return text;
}

TEST_CASE("without verbs: elementwise stages between communications are one") {
    Adam a;
    CHECK(stages(Schedule(a.program)) == "gsum\navg, m1, v1, p1\n");
    Lamb l;  // pn's block sums need no gsum
    CHECK(stages(Schedule(l.program)) ==
          "gsum\nm1, u, un.sum.blocks, pn.sum.blocks\nun.sum\nun\npn.sum\npn, ratio\np1\n");
}

TEST_CASE("an addend of one pending tensor is computed in the load; two are stored first, and that is a sweep") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, h{"h", f32, {n}, partial(Sum)}, w{"w", f32, {n}};
    Output<Tensor> y{"y", f32, {n}}, z{"z", f32, {n}};
    Tensor one{"one"}, two{"two"}, t{"t"}, u{"u"};
    one(i) = g(i) * w(i);
    two(i) = g(i) + h(i);
    t = all_reduce(one);
    u = all_reduce(two);
    y(i) = t(i) * 2.0f;
    z(i) = u(i) * 2.0f;
    Program p{"addends", {g, h, w, y, z}};
    Schedule s(p);
    CHECK(to_string(s.fuse({one, t, y})) == "Group 0, 1 sweep: {one, t, y}");
    CHECK(to_string(s.fuse({two, u, z})) == "Group 1, 2 sweeps: {two, u, z}");
    CHECK(stages(s) == "two\nu, z\nt, y\n");
    CHECK(s.text() == "fuse({one, t, y})  # Group 0, 1 sweep\nfuse({two, u, z})  # Group 1, 2 sweeps\n");
    Schedule all(p);
    all.fuse_all();
    CHECK(all.text() == "fuse_all()  # Group 0, 1 sweep: {one, t, y}; Group 1, 2 sweeps: {two, u, z}\n");
}

TEST_CASE("an addend without a name belongs to the Group of its reduction") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, h{"h", f32, {n}, partial(Sum)};
    Output<Tensor> y{"y", f32, {n}};
    Tensor t{"t"};
    t = all_reduce(g + h);
    y(i) = t(i) * 2.0f;
    Program p{"unnamed", {g, h, y}};
    Schedule s(p);
    CHECK(to_string(s.fuse({t, y})) == "Group 0, 2 sweeps: {t, y}");
    CHECK(stages(s) == "t.addend\nt, y\n");
}

TEST_CASE("what a Group reads from outside comes before it, so no stage in between cuts it in two") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}}, q{"q", f32, {n}, sliced(0)};
    Output<Tensor> y{"y", f32, {n}};
    Tensor a{"a"}, whole{"whole"};
    a(i) = x(i) + 1.0f;
    whole = all_gather(q);
    y(i) = a(i) * whole(i);
    Program p{"between", {x, q, y}};
    Schedule s(p);
    CHECK(to_string(s.fuse({a, y})) == "Group 0, 1 sweep: {a, y}");
    CHECK(stages(s) == "whole\na, y\n");
}

// One clip by the norm of all gradients over three tensors.
struct Clip {
    static constexpr int count = 3;
    Var i{"i"};
    std::vector<Size> sizes;
    std::vector<Input<Tensor>> g;
    std::vector<InOut<Tensor>> p;
    std::vector<Tensor> sum, norm, next;
    Tensor total{"total"};
    std::optional<Program> program;

    Clip() {
        std::vector<ArgumentRef> arguments;
        Expr squares = 0.0f;
        for (int k = 0; k < count; k++) {
            std::string number = std::to_string(k);
            sizes.emplace_back("n" + number);
            g.emplace_back("g" + number, f32, std::vector<Extent>{sizes.back()}, partial(Sum));
            p.emplace_back("p" + number, f32, std::vector<Extent>{sizes.back()});
            sum.emplace_back("sum" + number);
            norm.emplace_back("norm" + number);
            next.emplace_back("next" + number);
            arguments.push_back(g.back());
            arguments.push_back(p.back());
            sum[size_t(k)] = all_reduce(g[size_t(k)]);
            norm[size_t(k)]() = sum_over(i, sum[size_t(k)](i) * sum[size_t(k)](i));
            squares = squares + norm[size_t(k)]();
        }
        total() = sqrt(squares);
        for (int k = 0; k < count; k++) {
            next[size_t(k)](i) = p[size_t(k)](i) - sum[size_t(k)](i) / max(total(), 1.0f);
            update(p[size_t(k)], next[size_t(k)]);
        }
        program.emplace("clip", arguments);
    }
};

TEST_CASE("block sums ride, and all block results are exchanged after what can be done before") {
    Clip c;
    Schedule s(*c.program);
    for (auto &t : c.sum) {
        auto [rs, ag] = s.split(t);
        const size_t k = size_t(&t - c.sum.data());
        s.reorder(ag, {c.norm[k], c.next[k]});
    }
    s.fuse_all();
    CHECK(stages(s) ==
          "sum0.rs, norm0.blocks\nsum1.rs, norm1.blocks\nsum2.rs, norm2.blocks\n"
          "norm0.blocks.ag\nnorm1.blocks.ag\nnorm2.blocks.ag\nnorm0\nnorm1\nnorm2\ntotal\n"
          "next2, next2.ag\nnext0, next0.ag\nnext1, next1.ag\n");
}
