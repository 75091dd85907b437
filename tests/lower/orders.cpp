// The orders of reductions over indices, compiled: for every type, at the ends of groups and sub-blocks, however what is
// reduced lies in memory, replicated and sliced.
#include <doctest/doctest.h>
#include <stretto/stretto.h>
#include <cmath>

using namespace stretto;

namespace {

void agrees(const Program &p, std::vector<int64_t> sizes, const std::vector<int> &ranks = {1, 2, 3, 4, 5, 8}) {
    CheckOptions o;
    o.ranks = ranks;
    o.sizes = std::move(sizes);
    o.compile.direct_ranks = {1, 2};
    CheckReport r = check(p, Schedule(p), o);
    CHECK_MESSAGE(r.ok(), to_string(r));
}

const std::vector<int64_t> ragged = {0, 1, 2, 7, 63, 64, 65, 200, 4095, 4096, 4097, 8200};

}  // namespace

TEST_CASE("rows, columns and full sums of every type") {
    for (Type t : {f16, bf16, f32, f64, i32, u8, i64}) {
        INFO(type_name(t));
        Size n{"n"};
        Var i{"i"}, k{"k"};
        Input<Tensor> x{"x", t, {3, n}}, y{"y", t, {n, 3}}, w{"w", t, {n}}, s{"s", t, {n}, sliced(0)};
        Output<Tensor> row{"row", t, {3}}, times{"times", t, {3}}, column{"column", t, {3}}, weighted{"weighted", t, {3}},
            full{"full", t, {}}, whole{"whole", t, {}}, own{"own", t, {}};
        row(i) = sum_over(k, x(i, k));
        times(i) = sum_over(k, x(i, k) * w(k));
        column(i) = sum_over(k, y(k, i));
        weighted(i) = sum_over(k, y(k, i) * w(k));
        full() = sum_over(k, w(k) * w(k));
        Tensor gathered{"gathered"};
        gathered = all_gather(s);
        whole() = sum_over(k, gathered(k));
        own() = sum_over(k, s(k));
        agrees(Program{"of_type", {x, y, w, s, row, times, column, weighted, full, whole, own}}, ragged);
    }
}

TEST_CASE("maxima, minima and products by lanes and down columns") {
    for (Type t : {f32, f64, i8, u16}) {
        INFO(type_name(t));
        Size n{"n"};
        Var i{"i"}, k{"k"};
        Input<Tensor> x{"x", t, {3, n}}, y{"y", t, {n, 3}};
        Output<Tensor> high{"high", t, {3}}, low{"low", t, {}}, product{"product", t, {3}}, down{"down", t, {3}};
        high(i) = max_over(k, x(i, k));
        low() = min_over({i, k}, x(i, k));
        product(i) = prod_over(k, x(i, k));
        down(i) = min_over(k, y(k, i));
        agrees(Program{"extrema", {x, y, high, low, product, down}}, {0, 1, 65, 4097}, {1, 3});
    }
}

TEST_CASE("several reduced indices: the linear index decides, however they lie in memory") {
    Size n{"n"};
    Var i{"i"}, j{"j"}, k{"k"};
    Input<Tensor> x{"x", f32, {n, 3}}, y{"y", f32, {3, n}}, z{"z", f32, {2, n, 5}}, wide{"wide", f32, {5, 128}},
        u{"u", f32, {n}}, v{"v", f32, {128}}, c{"c", f32, {3, n}, sliced(1)};
    Output<Tensor> narrow{"narrow", f32, {}}, turned{"turned", f32, {}}, scaled{"scaled", f32, {}}, groups{"groups", f32, {}},
        rows{"rows", f32, {2}}, blocks{"blocks", f32, {}}, own_blocks{"own_blocks", f32, {}}, cube{"cube", f32, {}},
        numbered{"numbered", f32, {}};
    narrow() = sum_over({i, j}, x(i, j));
    turned() = sum_over({j, i}, x(i, j));                             // not as it lies
    scaled() = sum_over({i, j}, x(i, j) * u(i));                      // one operand lacks an index
    groups() = sum_over({i, j}, wide(i, j) * v(j));                   // rows of whole groups
    rows(i) = sum_over({j, k}, z(i, j, k));                           // a free index
    blocks() = sum_over({i, j}, y(i, j)).blocks(j);                   // of each row a part
    own_blocks() = sum_over({i, j}, c(i, j)).blocks(j);               // the same, of slices
    cube() = sum_over({i, j, k}, z(i, j, k) * u(j));                  // three
    numbered() = sum_over({i, j}, x(i, j) * cast<float>(i - 2 * j));  // their values count
    agrees(Program{"several",
                   {x, y, z, wide, u, v, c, narrow, turned, scaled, groups, rows, blocks, own_blocks, cube,
                    numbered}},
           {0, 1, 2, 63, 64, 65, 820, 1366, 4097});
}

TEST_CASE("lookups and neighbours along rows and down columns") {
    Size n{"n"};
    Var i{"i"}, k{"k"};
    Input<Tensor> at{"at", i32, {n}}, v{"v", f32, {n}}, table{"table", f32, {n, 4}};
    at.range(-3, 5000);
    auto bounded = [&](const Expr &e) { return clamp(e, 0, cast<int32_t>(n) - 1); };
    Output<Tensor> along{"along", f32, {4}}, down{"down", f32, {4}}, next{"next", f32, {}};
    along(i) = sum_over(k, v(bounded(at(k))) * cast<float>(i));
    down(i) = sum_over(k, table(bounded(at(k)), i));
    next() = sum_over(k, v(k) * v(bounded(cast<int32_t>(k) + 1)));
    agrees(Program{"lookups", {at, v, table, along, down, next}}, {1, 2, 65, 4097}, {1, 2, 3});
}

TEST_CASE("any width of vectors has the same bits") {
    for (int lanes : {1, 2, 4, 64}) {
        INFO(lanes << " lanes");
        Size n{"n"};
        Var i{"i"}, k{"k"};
        Input<Tensor> x{"x", f32, {3, n}};
        Tensor row{"row"}, column{"column"};
        Output<Tensor> out{"out", f32, {3}}, down{"down", f32, {n}};
        row(i) = sum_over(k, x(i, k));
        column(i) = sum_over(k, x(k, i));
        out(i) = row(i);
        down(i) = column(i);
        Program p{"width", {x, out, down}};
        Schedule s(p);
        s.vectorize(row, lanes);
        s.vectorize(column, lanes);
        CheckOptions o;
        o.ranks = {1};
        o.sizes = {0, 1, 65, 4097};
        CheckReport r = check(p, s, o);
        CHECK_MESSAGE(r.ok(), to_string(r));
    }
}

TEST_CASE("NaN and zeros of both signs: maximum, minimum and sum of rows") {
    const float nan = std::nanf("");
    Size n{"n"};
    Var i{"i"}, k{"k"};
    Input<Tensor> x{"x", f32, {2, n}};
    Output<Tensor> high{"high", f32, {2}}, low{"low", f32, {2}}, sum{"sum", f32, {2}};
    high(i) = max_over(k, x(i, k));
    low(i) = min_over(k, x(i, k));
    sum(i) = sum_over(k, x(i, k));
    Compiled f = compile(Program{"special", {x, high, low, sum}});
    for (int length : {1, 64, 70, 5000})
        for (int place : {0, 63, 69, 4999}) {
            if (place >= length) continue;
            std::vector<float> xs(size_t(2) * length, -0.0f);
            xs[size_t(place)] = nan;
            xs[size_t(length) + place] = 0.0f;
            float h[2], l[2], s[2];
            run(threads(1), [&](Communicator &c) {
                f(c, view(xs.data(), {2, length}), view(h, {2}), view(l, {2}), view(s, {2}));
            });
            CHECK((std::isnan(h[0]) && std::isnan(l[0]) && std::isnan(s[0])));
            CHECK((h[1] == 0 && !std::signbit(h[1])));
            CHECK((l[1] == 0 && std::signbit(l[1]) == (length > 1)));
            CHECK((s[1] == 0 && !std::signbit(s[1])));
        }
}

TEST_CASE("20000000 ones are 20000000 whatever their shape, and the norm of 4000000 has no error that grows") {
    Size m{"m"}, n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", f32, {m, n}};
    Output<Tensor> sum{"sum", f32, {}}, norm{"norm", f32, {}};
    sum() = sum_over({i, j}, x(i, j));
    norm() = norm2({i, j}, x(i, j));
    Compiled f = compile(Program{"sums", {x, sum, norm}});
    std::vector<float> ones(20000000, 1.0f), values(4000000);
    double squares = 0;
    for (size_t k = 0; k < values.size(); k++) {
        values[k] = float(k % 1000) / 1000.0f + 0.1f;
        squares += double(values[k]) * values[k];
    }
    auto call = [&](std::vector<float> &v, int rows, int columns, float &s, float &l) {
        run(threads(1), [&](Communicator &c) { f(c, view(v.data(), {rows, columns}), view(&s, {}), view(&l, {})); });
    };
    float s, l, first = 0;
    for (int columns : {1, 4, 100, 20000000}) {
        call(ones, 20000000 / columns, columns, s, l);
        CHECK(s == 20000000.0f);
    }
    for (int columns : {1, 8, 500, 4000000}) {
        call(values, 4000000 / columns, columns, s, l);
        if (columns == 1) first = l;
        CHECK(l == first);
        CHECK(std::fabs(l - std::sqrt(squares)) <= 2e-6 * std::sqrt(squares));
    }
}
