// Memory as callers have it: with strides, off every alignment, inside other memory, overlapping.
#include "jit.h"

#include <cstring>
#include <numeric>

using namespace stretto;
using namespace stretto::test;

namespace {

// A value distinct in rank and index.
float value(int rank, int64_t i) {
    return float(rank + 1) * 1.25f + float(i) * 0.03125f;
}

struct Operation {
    const char *name;
    Layout in, out;
    std::function<Comm(const Tensor &)> make;
};
const std::vector<Operation> &all_operations() {
    static const std::vector<Operation> operations = {
        {"all_reduce", partial(Sum), replicated, [](const Tensor &t) { return all_reduce(t); }},
        {"reduce_scatter", partial(Sum), sliced(0), [](const Tensor &t) { return reduce_scatter(t, 0); }},
        {"all_gather", sliced(0), replicated, [](const Tensor &t) { return all_gather(t); }},
        {"broadcast", local, replicated, [](const Tensor &t) { return broadcast(t, 1); }},
        {"slice_of", replicated, sliced(0), [](const Tensor &t) { return slice_of(t, 0); }},
    };
    return operations;
}

}  // namespace

TEST_CASE("rows with gaps are right; a column and a transpose are errors that name the stride; for every operation") {
    for (auto &op : all_operations()) {
        INFO(op.name);
        Input<Tensor> x{"x", f32, {5, 2}, op.in};
        Output<Tensor> y{"y", f32, {5, 2}, op.out};
        y = op.make(x);
        Compiled f = compile(Program{"views", {x, y}});
        // The result from dense buffers, then from strided ones. strides: of dimensions 0 and 1.
        auto call = [&](std::pair<int, int> in, std::pair<int, int> out, std::vector<std::vector<float>> *results) {
            results->assign(2, {});
            return errors_of(2, [&](Communicator &c) {
                int64_t begin, end;
                stretto_slice(5, c.rank(), 2, &begin, &end);
                auto strided = [&](std::vector<float> &memory, const Layout &layout, std::pair<int, int> strides) {
                    bool whole = !layout.is_sliced();
                    View v = view(memory.data(), {whole ? 5 : end - begin, 2}, {whole ? 0 : begin, 0});
                    v.get()->dim[1].stride = strides.first, v.get()->dim[0].stride = strides.second;
                    return v;
                };
                std::vector<float> a(64, -1), b(64, -7);
                View va = strided(a, op.in, in), vb = strided(b, op.out, out);
                auto &d = va.get()->dim;
                int source = op.in.is_replicated() ? 0 : c.rank();
                for (int j = 0; j < d[1].extent; j++)
                    for (int i = 0; i < 2; i++)
                        a[size_t(j * in.first + i * in.second)] = value(source, (j + d[1].min) * 2 + i);
                f(c, va, vb);
                std::vector<float> result;
                size_t touched = 0;
                for (int j = 0; j < vb.get()->dim[1].extent; j++)
                    for (int i = 0; i < 2; i++, touched++) result.push_back(b[size_t(j * out.first + i * out.second)]);
                CHECK(size_t(std::count(b.begin(), b.end(), -7.f)) == b.size() - touched);  // nothing else was written
                (*results)[size_t(c.rank())] = result;
            });
        };
        std::vector<std::vector<float>> dense, strided;
        CHECK(call({2, 1}, {2, 1}, &dense) == std::vector<std::string>{"", ""});
        CHECK(dense[0].size() > 0);
        CHECK(call({7, 1}, {3, 1}, &strided) == std::vector<std::string>{"", ""});
        CHECK(strided == dense);
        for (auto [in, out, name] : {std::tuple{std::pair{4, 2}, std::pair{2, 1}, "x"},
                                     {{1, 5}, {2, 1}, "x"},
                                     {{2, 1}, {4, 2}, "y"},
                                     {{2, 1}, {1, 5}, "y"}})
            for (auto &text : call(in, out, &strided)) {
                CAPTURE(text);
                CHECK(text.find(std::string("argument ") + name) != std::string::npos);
                CHECK(text.find("has stride " + std::to_string(*name == 'x' ? in.second : out.second)) != std::string::npos);
            }
    }
}

TEST_CASE("buffers that begin 1, 2 or 3 elements off an alignment give the same bits") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> g{"g", f16, {n}, partial(Sum)};
    InOut<Tensor> p{"p", f32, {n}}, m{"m", f32, {n}};
    Tensor gsum{"gsum"}, m1{"m1"}, p1{"p1"};
    gsum = all_reduce(cast<float>(g));
    m1(i) = 0.9f * m(i) + gsum(i);
    p1(i) = p(i) - 0.01f * m1(i);
    update(p, p1), update(m, m1);
    Program sgd{"momentum", {g, p, m}};
    Schedules schedules(sgd);
    schedules.add(sgd, "fused", [&](Schedule &s) {
        s.reorder(s.split(gsum).ag, {m1, p1});
        s.fuse_all();
    });
    for (auto &[name, schedule] : schedules.all) {
        Compiled f = compile(sgd, schedule);
        for (int64_t n : {67, 1009}) {
            auto result = [&](std::array<int, 3> offset, std::array<int, 3> second_rank) {
                std::vector<std::vector<float>> out(2);
                run(threads(2), [&](Communicator &c) {
                    auto &o = c.rank() ? second_rank : offset;
                    alignas(64) static thread_local char storage[3][1100 * 4];
                    auto *g = reinterpret_cast<float16 *>(storage[0]) + o[0];
                    float *p = reinterpret_cast<float *>(storage[1]) + o[1], *m = reinterpret_cast<float *>(storage[2]) + o[2];
                    for (int64_t k = 0; k < n; k++) {
                        g[k].bits = uint16_t(0x3000 + (k * 37 + c.rank() * 11) % 4096);
                        p[k] = value(0, k), m[k] = value(3, k);
                    }
                    float after = p[n];
                    f(c, view(g, {n}), view(p, {n}), view(m, {n}));
                    CHECK(p[n] == after);
                    out[size_t(c.rank())].assign(p, p + n);
                    out[size_t(c.rank())].insert(out[size_t(c.rank())].end(), m, m + n);
                });
                CHECK(out[0] == out[1]);
                return out[0];
            };
            std::vector<float> aligned = result({0, 0, 0}, {0, 0, 0});
            for (int k = 1; k < 4; k++) {
                CHECK(result({k, k, k}, {k, k, k}) == aligned);
                CHECK(result({k, 0, k % 3}, {0, k, 1}) == aligned);  // ranks and arguments differ
            }
        }
    }
}

TEST_CASE("in place at offset rank * count: own slice out of the whole, whole out of all slices") {
    Size n{"n"};
    Var i{"i"};
    InOut<Tensor> p{"p", f32, {n}};
    Tensor mine{"mine"}, twice{"twice"}, whole{"whole"};
    mine = slice_of(p, 0);
    twice(i) = mine(i) * 2.0f + 1.0f;
    whole = all_gather(twice);
    update(p, whole);
    Program in_place{"in_place", {p}};
    CheckOptions o;
    o.ranks = {1, 2, 3, 4};
    check_bits(in_place, Schedule(in_place), o);
    Schedule fused(in_place);
    fused.fuse_all();
    check_bits(in_place, fused, o);
}

TEST_CASE("a slice that is passed inside a whole buffer: nothing beside it is written") {
    Size n{"n"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    Output<Tensor> s{"s", f32, {n}, sliced(0)};
    s = reduce_scatter(g, 0);
    Compiled f = compile(Program{"scatter", {g, s}});
    for (int ranks : {2, 3})
        run(threads(ranks), [&](Communicator &c) {
            int64_t n = 1003;
            auto [begin, end] = c.slice(n);
            std::vector<float> g(static_cast<size_t>(n)), out(size_t(n), -1.f);
            for (int64_t k = 0; k < n; k++) g[size_t(k)] = value(c.rank(), k);
            f(c, g, view(out.data() + begin, {end - begin}, {begin}));
            for (int64_t k = 0; k < n; k++) CHECK((out[size_t(k)] == -1) == (k < begin || k >= end));
        });
}

TEST_CASE("an all-gather whose input lies in its output is an error that names both") {
    Size n{"n"};
    Input<Tensor> s{"s", f32, {n}, sliced(0)};
    Output<Tensor> out{"out", f32, {n}};
    out = all_gather(s);
    Compiled f = compile(Program{"gather", {s, out}});
    for (int shift : {0, 1})  // at the slice's place, and in part
        for (auto &text : errors_of(2, [&](Communicator &c) {
                 auto [begin, end] = c.slice(8);
                 std::vector<float> out(16);
                 f(c, view(out.data() + begin + shift, {end - begin}, {begin}), view(out.data(), {8}));
             }))
            CHECK_MESSAGE(text.find("arguments s and out overlap") != std::string::npos, text);
}
