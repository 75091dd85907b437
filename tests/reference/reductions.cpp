// The order in which the reference adds, element by element, against loops written out here.
#include "lang/order.h"
#include "program_check.h"

using namespace stretto;
using namespace stretto::test;

namespace {

using Floats = std::vector<float>;

Floats values(const Values &v, const std::string &name, int r = 0) {
    const HostTensor &t = v.in.tensors.at(name)[size_t(r)];
    return Floats(t.data<float>(), t.data<float>() + t.count());
}

float result(const Values &v, const std::string &name, int r = 0) {
    return v.out.arguments.at(name)[size_t(r)].data<float>()[0];
}

uint32_t bits(float x) {
    return uint32_t(Value::of(x).bits);
}

// The rule of the language reference for lanes: 64 accumulators a sub-block of 4096, folded in halves, sub-blocks in order.
template <class F>
float by_lanes(const Floats &addends, float start, F combine) {
    float sum = start;
    for (size_t begin = 0; begin < addends.size(); begin += 4096) {
        float lane[64];
        std::fill(lane, lane + 64, start);
        for (size_t o = 0; o < std::min<size_t>(4096, addends.size() - begin); o++)
            lane[o % 64] = combine(lane[o % 64], addends[begin + o]);
        for (int w : {32, 16, 8, 4, 2, 1})
            for (int l = 0; l < w; l++) lane[l] = combine(lane[l], lane[l + w]);
        sum = combine(sum, lane[0]);
    }
    return sum;
}

float plus(float a, float b) {
    return a + b;
}

const std::vector<int64_t> lengths = {0, 1, 3, 63, 64, 65, 128, 200, 1000, 4095, 4096, 4097, 9000};

}  // namespace

TEST_CASE("a full sum is in blocks, as many as ranks, each by lanes") {
    for (Layout layout : {replicated, sliced(0)}) {
        Size n{"n"};
        Var i{"i"};
        Input<Tensor> x{"x", f32, {n}, layout};
        Output<Tensor> out{"out", f32, {}};
        Tensor part{"part"};
        if (layout == replicated) out() = sum_over(i, x(i));
        else {
            part(i) = x(i) + 0.0f;
            Tensor whole{"whole"};
            whole = all_gather(part);
            out() = sum_over(i, whole(i));
        }
        Program p{"full_sum", {x, out}};
        for (int ranks : rank_counts)
            for (int64_t length : lengths) {
                Values v(p, ranks, {{"n", length}});
                v.run();
                Floats x;
                for (int64_t k = 0; k < length; k++) x.push_back(float(v.before("x", {k})));
                float sum = 0;
                for (int b = 0; b < ranks; b++) {
                    Floats row(x.begin() + length * b / ranks, x.begin() + length * (b + 1) / ranks);
                    float block = by_lanes(row, 0, plus);
                    sum = b ? sum + block : block;
                }
                for (int r = 0; r < ranks; r++) CHECK(bits(result(v, "out", r)) == bits(sum));
            }
    }
}

TEST_CASE("a full sum over two indices: blocks of the first, or of the one asked for; lanes by the linear index") {
    for (bool second : {false, true}) {
        Size m{"m"}, n{"n"};
        Var i{"i"}, j{"j"};
        Input<Tensor> x{"x", f32, {m, n}};
        Output<Tensor> out{"out", f32, {}};
        out() = second ? sum_over({i, j}, x(i, j)).blocks(j) : sum_over({i, j}, x(i, j));
        Program p{"full_sum", {x, out}};
        for (int ranks : rank_counts)
            for (int64_t columns : lengths) {
                const int64_t rows = 5;
                Values v(p, ranks, {{"m", rows}, {"n", columns}});
                v.run();
                float sum = 0;
                for (int b = 0; b < ranks; b++) {
                    int64_t i0 = second ? 0 : rows * b / ranks, i1 = second ? rows : rows * (b + 1) / ranks;
                    int64_t j0 = second ? columns * b / ranks : 0,
                            j1 = second ? columns * (b + 1) / ranks : columns;
                    Floats block;
                    for (int64_t i = i0; i < i1; i++)
                        for (int64_t j = j0; j < j1; j++) block.push_back(float(v.before("x", {i, j})));
                    float s = by_lanes(block, 0, plus);
                    sum = b ? sum + s : s;
                }
                CHECK(bits(result(v, "out")) == bits(sum));
            }
    }
}

TEST_CASE("a contraction is one chain of fused multiply-adds from +0, or multiplies and adds where there is no FMA") {
    Size m{"m"}, n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> a{"a", f32, {m, n}}, b{"b", f32, {n, m}};
    Output<Tensor> out{"out", f32, {m, m}};
    out(i, j) = sum_over(k, a(i, k) * b(k, j));
    Program p{"contraction", {a, b, out}};
    for (int64_t length : lengths) {
        Values v(p, 2, {{"m", 3}, {"n", length}});
        v.run();
        Floats x = values(v, "a"), y = values(v, "b");
        auto check = [&](bool fused) {
            ReferenceOptions options;
            options.fused_multiply_add = fused;
            RunResult r = interpret(p.graph(), 2, v.in, options);
            for (int64_t i = 0; i < 3; i++)
                for (int64_t j = 0; j < 3; j++) {
                    float sum = 0;
                    for (int64_t k = 0; k < length; k++) {
                        float p = x[size_t(i * length + k)], q = y[size_t(k * 3 + j)];
                        sum = fused ? std::fma(p, q, sum) : sum + p * q;
                    }
                    CHECK(bits(r.arguments.at("out")[1].data<float>()[i * 3 + j]) == bits(sum));
                }
        };
        check(true), check(false);
    }
}

TEST_CASE("rows are added by lanes, a matrix times a vector too; columns in sequence; neither by fused multiply-adds") {
    Size m{"m"}, n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> x{"x", f32, {m, n}}, w{"w", f32, {n}}, y{"y", f32, {n, m}}, z{"z", f32, {m, 2, n}};
    Output<Tensor> row{"row", f32, {m}}, times{"times", f32, {m}}, column{"column", f32, {m}}, weighted{"weighted", f32, {m}},
        both{"both", f32, {m}}, turned{"turned", f32, {m}};
    row(i) = sum_over(k, x(i, k));
    times(i) = sum_over(k, x(i, k) * w(k));
    column(i) = sum_over(k, y(k, i));
    weighted(i) = sum_over(k, y(k, i) * w(k));
    both(i) = sum_over({j, k}, z(i, j, k));
    turned(i) = sum_over({k, j}, z(i, j, k));
    Program p{"rows_and_columns", {x, w, y, z, row, times, column, weighted, both, turned}};
    for (int64_t length : lengths) {
        Values v(p, 2, {{"m", 3}, {"n", length}});
        v.run();
        for (int64_t i = 0; i < 3; i++) {
            Floats in_row, products, in_both;
            float down = 0, weighted_down = 0, all = 0;
            for (int64_t k = 0; k < length; k++) {
                in_row.push_back(float(v.before("x", {i, k})));
                products.push_back(in_row.back() * float(v.before("w", {k})));
                float in_column = float(v.before("y", {k, i})), product = in_column * float(v.before("w", {k}));
                down += in_column;
                weighted_down += product;
                for (int64_t j = 0; j < 2; j++) all += float(v.before("z", {i, j, k}));
            }
            for (int64_t j = 0; j < 2; j++)
                for (int64_t k = 0; k < length; k++) in_both.push_back(float(v.before("z", {i, j, k})));
            auto is = [&](const char *name, float want) {
                CHECK(bits(v.out.arguments.at(name)[1].data<float>()[i]) == bits(want));
            };
            is("row", by_lanes(in_row, 0, plus)), is("times", by_lanes(products, 0, plus));
            is("column", down), is("weighted", weighted_down);
            is("both", by_lanes(in_both, 0, plus)), is("turned", all);
        }
    }
}

TEST_CASE("which order: decided by the accesses that use the last reduced index") {
    Size n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> a{"a", f32, {n, n}}, b{"b", f32, {n, n}}, v{"v", f32, {n}}, at{"at", i32, {n}};
    Output<Tensor> out{"out", f32, {n}};
    auto order = [&](const Expr &e, const char *name) {
        Tensor t{name};
        t(i) = e;
        Output<Tensor> o{std::string(name) + "_out", f32, {n}};
        o(i) = t(i);
        return order_of(*Program{"order", {a, b, v, at, o}}.graph().find(name));
    };
    CHECK(order(sum_over(k, a(i, k) * b(i, k)), "rows_of_two") == Order::Lanes);
    CHECK(order(sum_over(k, a(i, k) * v(k)), "matrix_vector") == Order::Lanes);
    CHECK(order(sum_over(k, v(i) * v(k)), "outer") == Order::Lanes);
    CHECK(order(sum_over(k, a(k, i)), "columns") == Order::Columns);
    CHECK(order(sum_over(k, a(i, k) * b(k, i)), "trace") == Order::Columns);
    CHECK(order(sum_over({j, k}, a(j, i) * b(i, k)), "last_decides") == Order::Lanes);
    CHECK(order(sum_over({k, j}, a(j, i) * b(i, k)), "last_is_a_column") == Order::Columns);
    CHECK(order(sum_over(k, v(clamp(at(k), 0, 3)) * v(i)), "lookup_of_rows") == Order::Lanes);
    CHECK(order(sum_over(k, a(clamp(at(k), 0, 3), i)), "lookup_of_columns") == Order::Columns);
    Tensor y{"y"};
    Output<Tensor> product{"product", f32, {n, n}};
    y(i, j) = sum_over(k, a(i, k) * b(j, k));
    product(i, j) = y(i, j);
    CHECK(order_of(*Program{"order", {a, b, product}}.graph().find("y")) == Order::Chain);
}

TEST_CASE("16-bit operands of a contraction are multiplied and added in float32, and the sum rounded once") {
    for (Type t : {f16, bf16}) {
        Size m{"m"}, n{"n"};
        Var i{"i"}, j{"j"}, k{"k"};
        Input<Tensor> a{"a", t, {m, n}}, b{"b", t, {n}}, c{"c", t, {n, 1}};
        Output<Tensor> out{"out", t, {m, 1}}, full{"full", t, {}};
        out(i, j) = sum_over(k, a(i, k) * c(k, j));
        full() = sum_over(k, b(k) * b(k));
        Program p{"contraction", {a, b, c, out, full}};
        Values v(p, 2, {{"m", 3}, {"n", 200}});
        v.run();
        for (int64_t i = 0; i < 3; i++) {
            float sum = 0;
            for (int64_t k = 0; k < 200; k++)
                sum = std::fma(float(v.before("a", {i, k})), float(v.before("c", {k, 0})), sum);
            HostTensor rounded(t, {}, {});
            rounded.set(0, sum);
            CHECK(v.out.arguments.at("out")[0].load(i).bits == rounded.load(0).bits);
        }
        float sum = 0;
        for (int block = 0; block < 2; block++) {
            Floats row;
            for (int64_t k = block * 100; k < block * 100 + 100; k++)
                row.push_back(float(v.before("b", {k})) * float(v.before("b", {k})));
            float s = by_lanes(row, 0, plus);
            sum = block ? sum + s : s;
        }
        HostTensor rounded(t, {}, {});
        rounded.set(0, sum);
        CHECK(v.out.arguments.at("full")[0].load(0).bits == rounded.load(0).bits);
    }
}

TEST_CASE("over ranks: rank order, from rank 0's addend") {
    Size n{"n"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)};
    Output<Tensor> out{"out", f32, {n}}, slice{"slice", f32, {n}, sliced(0)};
    out = all_reduce(g);
    slice = reduce_scatter(g, 0);
    Program p{"rank_order", {g, out, slice}};
    for (int ranks : rank_counts)
        for (int64_t length : interesting_sizes(ranks)) {
            Values v(p, ranks, {{"n", length}});
            v.run();
            for (int64_t i = 0; i < length; i++) {
                float sum = float(v.before("g", {i}, 0));
                for (int r = 1; r < ranks; r++) sum += float(v.before("g", {i}, r));
                CHECK(bits(v.out.arguments.at("out")[size_t(ranks - 1)].data<float>()[i]) == bits(sum));
                for (auto &t : v.out.arguments.at("slice"))
                    if (t.contains({i})) CHECK(bits(t.data<float>()[t.position({i})]) == bits(sum));
            }
        }
}

TEST_CASE("over a sliced index: each rank's chain, or lanes, over its own block, then rank order") {
    Size n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> x{"x", f32, {2, n}, sliced(1)}, w{"w", f32, {n, 1}, sliced(0)};
    Output<Tensor> out{"out", f32, {2, 1}}, rows{"rows", f32, {2}};
    Tensor part{"part"}, row_part{"row_part"};
    part(i, j) = sum_over(k, x(i, k) * w(k, j));
    out = all_reduce(part);
    row_part(i) = sum_over(k, x(i, k));
    rows = all_reduce(row_part);
    Program p{"contraction", {x, w, out, rows}};
    for (int ranks : rank_counts)
        for (int64_t length : lengths) {
            Values v(p, ranks, {{"n", length}});
            v.run();
            for (int64_t i = 0; i < 2; i++) {
                float sum = 0, row_sum = 0;
                for (int r = 0; r < ranks; r++) {
                    float own = 0;
                    Floats row;
                    for (int64_t k = length * r / ranks; k < length * (r + 1) / ranks; k++) {
                        row.push_back(float(v.before("x", {i, k})));
                        own = std::fma(row.back(), float(v.before("w", {k, 0})), own);
                    }
                    sum = r ? sum + own : own;
                    row_sum = r ? row_sum + by_lanes(row, 0, plus) : by_lanes(row, 0, plus);
                }
                CHECK(bits(v.out.arguments.at("out")[0].data<float>()[i]) == bits(sum));
                CHECK(bits(v.out.arguments.at("rows")[0].data<float>()[i]) == bits(row_sum));
            }
        }
}

TEST_CASE("-0 from all ranks stays -0, and a sum over an index begins with +0") {
    Size n{"n"};
    Var i{"i"}, k{"k"};
    Input<Tensor> g{"g", f32, {n}, partial(Sum)}, x{"x", f32, {n, n}};
    Output<Tensor> out{"out", f32, {n}}, s{"s", f32, {n}};
    out = all_reduce(g);
    s(i) = sum_over(k, x(i, k));
    Program p{"zeros", {g, x, out, s}};
    Values v(p, 3, {{"n", 2}});
    v.set("g", [](int, auto &) { return -0.0; });
    v.set("x", [](int, auto &) { return -0.0; });
    v.run();
    CHECK(bits(result(v, "out")) == bits(-0.f));
    CHECK(bits(result(v, "s")) == bits(0.f));
}

TEST_CASE("maximum, minimum and product, full, per row and over ranks, for integers and floats") {
    for (Type t : {f32, f64, i32, u8, i64}) {
        Size m{"m"}, n{"n"};
        Var i{"i"}, j{"j"};
        Input<Tensor> x{"x", t, {m, n}, sliced(1)};
        Output<Tensor> high{"high", t, {m}}, low{"low", t, {m}}, prod{"prod", t, {m}};
        Tensor h{"h"}, l{"l"}, p{"p"};
        h(i) = max_over(j, x(i, j));
        l(i) = min_over(j, x(i, j));
        p(i) = prod_over(j, x(i, j));
        high = all_reduce(h);
        low = all_reduce(l);
        prod = all_reduce(p);
        Program program{"extrema", {x, high, low, prod}};
        for (int ranks : rank_counts) {
            Values v(program, ranks, {{"m", 2}, {"n", 7}});
            v.run();
            for (int64_t i = 0; i < 2; i++) {
                double h = -1e9, l = 1e9;
                uint64_t wrapped = 1;
                double product = 1;
                for (int64_t j = 0; j < 7; j++) {
                    double x = v.before("x", {i, j});
                    h = std::max(h, x), l = std::min(l, x);
                    product *= x;
                    wrapped *= uint64_t(int64_t(x));
                }
                CHECK(v.out.arguments.at("high")[0].get(i) == h);
                CHECK(v.out.arguments.at("low")[0].get(i) == l);
                if (t.is_float())
                    CHECK(std::fabs(v.out.arguments.at("prod")[0].get(i) - product) <=
                          1e-6 * std::fabs(product));
                else
                    CHECK(v.out.arguments.at("prod")[0].load(i).bits ==
                          cast_value(Value::of(wrapped), u64, t).bits);
            }
        }
    }
}

TEST_CASE("all_gather, broadcast, slice_of and rank(): what each rank has") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}, sliced(0)}, y{"y", f32, {n}, local}, z{"z", f32, {n}};
    Output<Tensor> gathered{"gathered", f32, {n}}, cast_{"cast_", f32, {n}},
        own{"own", f32, {n}, sliced(0)}, mixed{"mixed", f32, {n}, local};
    gathered = all_gather(x);
    cast_ = broadcast(y, 0);
    own = slice_of(z, 0);
    mixed(i) = y(i) + cast<float>(rank()) * 100.0f + cast<float>(ranks()) * 1000.0f;
    Program p{"copies", {x, y, z, gathered, cast_, own, mixed}};
    for (int ranks : rank_counts)
        for (int64_t length : interesting_sizes(ranks)) {
            Values v(p, ranks, {{"n", length}});
            v.run();
            v.expect("gathered", 0, [&](auto &i) { return v.before("x", i); });
            v.expect("cast_", 0, [&](auto &i) { return v.before("y", i, 0); });
            v.expect("own", 0, [&](auto &i) { return v.before("z", i); });
            for (int r = 0; r < ranks; r++)
                for (int64_t i = 0; i < length; i++)
                    CHECK(v.out.arguments.at("mixed")[size_t(r)].get(i) ==
                          double(float(v.before("y", {i}, r)) + float(r) * 100.0f +
                                 float(ranks) * 1000.0f));
        }
}

TEST_CASE("shift: the tensor of another rank, and what is at the ends") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> y{"y", f32, {n}, local};
    Input<float> c{"c"};
    for (int ranks : rank_counts)
        for (int k : {0, 1, -1, 2, -7}) {
            Output<Tensor> around{"around", f32, {n}, local}, kept{"kept", f32, {n}, local}, filled{"filled", f32, {n}, local};
            around = shift(y, k), kept = shift(y, k, keep), filled = shift(y, k, fill(c * 2.0f));
            Program p{"shifts", {y, c, around, kept, filled}};
            Values v(p, ranks, {{"n", 5}});
            v.run();
            for (int r = 0; r < ranks; r++)
                for (int64_t i = 0; i < 5; i++) {
                    auto of = [&](int rank) { return v.before("y", {i}, rank); };
                    auto got = [&](const char *name) { return v.out.arguments.at(name)[size_t(r)].get(i); };
                    const int from = r - k;
                    const bool there = from >= 0 && from < ranks;
                    CHECK(got("around") == of((from % ranks + ranks) % ranks));
                    CHECK(got("kept") == of(there ? from : r));
                    CHECK(got("filled") == (there ? of(from) : double(v.in.scalars.at("c").value.as<float>() * 2.0f)));
                }
        }
}
