// Values that schedules, targets or conversions changed (rows A1 to A19 of what trying the product found).
#include "jit.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace stretto;
using namespace stretto::test;

namespace {

const float infinity = std::numeric_limits<float>::infinity(), nan_ = std::numeric_limits<float>::quiet_NaN();
const std::vector<std::string> targets = {"host", "x86-64-linux", "x86-64-linux-sse41", "x86-64-linux-avx",
                                          "x86-64-linux-avx2-fma-f16c"};

CheckOptions checked(std::vector<int> ranks, std::vector<int64_t> sizes, const std::string &target = "host") {
    CheckOptions o;
    o.ranks = std::move(ranks);
    o.sizes = std::move(sizes);
    o.compile.target = target;
    return o;
}

}  // namespace

TEST_CASE("A1: a contraction has one value on a target, fused or not, under every schedule") {
    for (auto &target : targets) {
        INFO(target);
        Size B{"B"}, K{"K"}, H{"H"};
        Var b{"b"}, k{"k"}, h{"h"};
        Input<Tensor> g{"g", f32, {B, K}, partial(Sum)}, w{"w", f32, {K, H}};
        Output<Tensor> y{"y", f32, {B, H}};
        Tensor s{"s"};
        s = all_reduce(g);
        y(b, h) = sum_over(k, s(b, k) * w(k, h));
        Program p{"product", {g, w, y}};
        Schedule on_slices(p);
        on_slices.reorder(on_slices.split(s).ag, {y});
        for (auto &schedule : {Schedule(p), on_slices}) check_bits(p, schedule, checked({1, 5}, {37}, target));
    }
}

TEST_CASE("A2: NaN and infinity of 16-bit floats, and through every conversion, are seen") {
    for (auto &target : targets)
        for (auto &type : {f16, bf16}) {
            INFO(target << " " << type_name(type));
            Size n{"n"}, m{"m"}, l{"l"};
            Var i{"i"}, j{"j"}, k{"k"};
            Input<Tensor> x{"x", type, {n}}, g{"g", type, {n}, partial(Sum)}, d{"d", f64, {n}}, f{"f", f32, {n}};
            Output<Tensor> isnan{"isnan", f32, {n}}, finite{"finite", f32, {n}}, relu{"relu", type, {n}}, e{"e", type, {n}},
                clipped{"clipped", type, {n}}, skipped{"skipped", f32, {n}}, wide{"wide", f64, {n}}, single{"single", f32, {n}},
                narrow{"narrow", type, {n}}, narrower{"narrower", type, {n}}, through{"through", f64, {n}};
            Tensor sum{"sum"};
            isnan(i) = select(x(i) != x(i) || Halide::is_nan(x(i)), 1.0f, select(Halide::is_inf(x(i)), 2.0f, 0.0f));
            finite(i) = select(x(i) - x(i) == 0, 1.0f, 0.0f);
            relu(i) = max(x(i), 0);
            e(i) = cast(type, exp(x(i)));
            clipped(i) = clamp(x(i), -2, 2);
            sum = all_reduce(g);
            skipped(i) = select(sum(i) - sum(i) == 0, cast<float>(sum(i)), 0.0f);
            wide(i) = cast(f64, f(i));
            single(i) = cast(f32, d(i));
            narrow(i) = cast(type, f(i));
            narrower(i) = cast(type, d(i));
            through(i) = select(cast(f64, x(i)) != cast(f64, x(i)), cast(f64, 7.0f), cast(f64, x(i)));
            Program p{"special",
                      {x, g, d, f, isnan, finite, relu, e, clipped, skipped, wide, single, narrow, narrower, through}};
            check_bits(p, Schedule(p), checked({1, 2, 3}, {1, 7, 16, 997, 1003}, target));
        }
}

TEST_CASE("A2: a rectified contraction of float16 keeps NaN and infinity") {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f16, {B, K}}, w{"w", f16, {K, H}};
    Output<Tensor> y{"y", f16, {B, H}};
    Tensor product{"product"};
    product(b, h) = sum_over(k, x(b, k) * w(k, h));
    y(b, h) = select(product(b, h) > 0, product(b, h), cast(f16, 0.0f) * product(b, h));
    Program p{"rectified", {x, w, y}};
    for (auto &target : targets) check_bits(p, Schedule(p), checked({1, 2}, {3, 19, 33}, target));
}

TEST_CASE("A3: a NaN on rank 0 is the maximum and the minimum of float16 and of a float32 sum of float64, for any ranks") {
    for (ReduceOp op : {ReduceOp::Max, ReduceOp::Min})
        for (int ranks : {1, 2, 3, 4, 5, 8}) {
            Size n{"n"};
            Input<Tensor> g{"g", f16, {n}, partial(op)}, f{"f", f32, {n}, partial(op)};
            Output<Tensor> out{"out", f16, {n}}, wide{"wide", f64, {n}};
            out = all_reduce(g);
            wide = all_reduce(f, f64);
            Program p{"extreme", {g, f, out, wide}};
            Compiled c = compile(p);
            run(threads(ranks), [&](Communicator &comm) {
                std::vector<uint16_t> g(37, comm.rank() ? 0x3c00 : 0x7e00), out(37);
                std::vector<float> f(37, comm.rank() ? 1 : nan_);
                std::vector<double> wide(37);
                View vg = view(g.data(), {37}), vout = view(out.data(), {37});
                vg.get()->type = vout.get()->type = f16;
                c(comm, vg, f, vout, wide);
                for (auto x : out) CHECK((x & 0x7fff) > 0x7c00);
                for (auto x : wide) CHECK(std::isnan(x));
            });
        }
}

TEST_CASE("A4: lerp and abs have the same bits at every width") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> m{"m", f32, {n}}, g{"g", f32, {n}, partial(Sum)}, x{"x", f64, {n}}, u{"u", u8, {n}}, v{"v", u8, {n}};
    Input<float> b{"b"};
    Output<Tensor> m1{"m1", f32, {n}}, a{"a", f64, {n}}, mixed{"mixed", u8, {n}};
    Tensor sum{"sum"};
    sum = all_reduce(g);
    m1(i) = Halide::lerp(m(i), sum(i), 1 - b);
    a(i) = abs(floor(x(i)));
    mixed(i) = Halide::lerp(u(i), v(i), 1 - b);
    Program p{"mixed", {m, g, x, u, v, b, m1, a, mixed}};
    for (int lanes : {0, 1, 4, 16}) {
        Schedule s(p);
        if (lanes) s.vectorize(m1, lanes), s.vectorize(a, lanes), s.vectorize(mixed, lanes);
        check_bits(p, s, checked({1, 3}, {1, 16, 1003}));
    }
}

TEST_CASE("integers wrap: of a square that does, the sign is not taken for known") {
    for (auto &type : {i32, i64}) {
        Size a{"a"};
        Var i{"i"}, j{"j"};
        Input<Tensor> x{"x", type, {a, 5}}, y{"y", type, {5}};
        if (type == i32) x.range(-2e9, 2e9), y.range(-2e9, 2e9);
        else x.range(-9e18, 9e18), y.range(-9e18, 9e18);
        Output<Tensor> size{"size", f32, {5}}, sign{"sign", type, {5}}, next{"next", type, {5}};
        Tensor squares{"squares"};
        squares(j) = sum_over(i, x(i, j) * x(i, j));
        size(j) = abs(min(cast<float>(squares(j) * squares(j)), cast<float>(y(j) * y(j))));
        sign(j) = select(squares(j) * squares(j) < 0, cast(type, -1), cast(type, 1));
        next(j) = select(y(j) * 4 + 1 > y(j) * 4, y(j) * 3, y(j) - squares(j));
        Program p{"wrapping", {x, y, size, sign, next}};
        for (auto &target : targets) check_bits(p, Schedule(p), checked({1, 2}, {1, 37, 41}, target));
    }
}

TEST_CASE("abs and round of what is special, odd and large, of every type and target") {
    for (auto &target : targets) {
        Size n{"n"};
        Var i{"i"};
        Input<Tensor> x{"x", f32, {n}}, d{"d", f64, {n}};
        Output<Tensor> near{"near", f32, {n}}, size{"size", f32, {n}}, dnear{"dnear", f64, {n}};
        near(i) = round(x(i));
        size(i) = abs(x(i));
        dnear(i) = round(d(i));
        Program p{"rounded", {x, d, near, size, dnear}};
        CompileOptions o;
        o.target = target;
        Compiled f = compile(p, o);
        run(threads(1), [&](Communicator &c) {
            std::vector<float> x{0.5f, 1.5f, 2.5f, -0.5f, -0.3f, -1.5f, 8388607.5f,
                                 16777216.0f, -3e9f, 0.49999997f, infinity, nan_};
            std::vector<double> d(x.begin(), x.end());
            std::vector<float> near(x.size()), size(x.size());
            std::vector<double> dnear(x.size());
            f(c, x, d, near, size, dnear);
            for (size_t k = 0; k < x.size(); k++) {
                INFO(target << ": " << x[k]);
                CHECK((near[k] == std::nearbyint(x[k]) || std::isnan(x[k])));
                CHECK((dnear[k] == std::nearbyint(d[k]) || std::isnan(x[k])));
                CHECK(std::isnan(near[k]) == std::isnan(x[k]));
                CHECK((std::signbit(near[k]) == std::signbit(x[k]) || std::isnan(x[k])));
                CHECK((size[k] == std::fabs(x[k]) || std::isnan(x[k])));
                CHECK(!std::signbit(size[k]));
            }
        });
    }
}

TEST_CASE("A12: the last vector of 2147483647 bytes stays inside of the tensor") {
    const int64_t n = 2147483647;
    Size size{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", u8, {size}};
    Output<Tensor> y{"y", u8, {size}};
    y(i) = x(i) + cast<uint8_t>(1);
    Program p{"bytes", {x, y}};
    Compiled c = compile(p);
    std::vector<uint8_t> in(size_t(n), 7), out(size_t(n) + 64, 1);
    run(threads(1), [&](Communicator &comm) {
        try {
            c(comm, view(in.data(), {n}), view(out.data(), {n}));
            CHECK(out[size_t(n) - 1] == 8);
        } catch (const RuntimeError &e) { MESSAGE(std::string(e.what())); }
    });
    for (size_t k = 0; k < 64; k++) CHECK(out[size_t(n) + k] == 1);
}

TEST_CASE("A14: the root of a norm is taken in the accumulator's type") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f16, {n}};
    Output<Tensor> norm{"norm", f16, {}};
    norm() = norm2(i, x(i));
    Program p{"norm", {x, norm}};
    Compiled c = compile(p);
    run(threads(2), [&](Communicator &comm) {
        std::vector<uint16_t> x = {0x5cb0, 0x5e40};  // 300, 400
        uint16_t norm = 0;
        View vx = view(x.data(), {2}), vnorm = view(&norm);
        vx.get()->type = vnorm.get()->type = f16;
        c(comm, vx, vnorm);
        CHECK(norm == 0x5fd0);  // 500
    });
    check_bits(p, Schedule(p), checked({1, 3}, {1, 400, 5000}));
}

TEST_CASE("A15: integers and sizes beside 16-bit floats are float32 until the one rounding") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f16, {n}}, k{"k", i32, {n}};
    Output<Tensor> mean{"mean", f16, {}}, product{"product", f16, {n}}, written{"written", f16, {n}};
    mean() = sum_over(i, x(i)) / n;
    product(i) = x(i) * k(i);
    written(i) = cast<float16_t>(k(i)) * x(i);
    Program p{"promoted", {x, k, mean, product, written}};
    Compiled c = compile(p);
    const size_t count = 65536;
    run(threads(1), [&](Communicator &comm) {
        std::vector<uint16_t> x(count, 0x3800), product(count), written(count);  // 0.5
        std::vector<int32_t> k(count, 100000);
        uint16_t mean = 0;
        View vx = view(x.data(), {int64_t(count)}), vproduct = view(product.data(), {int64_t(count)}),
             vwritten = view(written.data(), {int64_t(count)}), vmean = view(&mean);
        vx.get()->type = vproduct.get()->type = vwritten.get()->type = vmean.get()->type = f16;
        c(comm, vx, k, vmean, vproduct, vwritten);
        CHECK(mean == 0x3800);
        CHECK(product[0] == 0x7a1a);  // 50000 in f16
        CHECK(written[count - 1] == 0x7a1a);
    });
    check_bits(p, Schedule(p), checked({1, 3}, {1, 16, 101}));
}

TEST_CASE("A18: a scalar that the argument's type cannot hold is refused") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", i32, {n}};
    Input<int32_t> a{"a"};
    Input<uint8_t> b{"b"};
    Input<bool> c{"c"};
    Output<Tensor> y{"y", i32, {n}};
    y(i) = select(c, x(i) + a, x(i) - cast<int32_t>(b));
    Program p{"scalars", {x, a, b, c, y}};
    Compiled f = compile(p);
    run(threads(1), [&](Communicator &comm) {
        std::vector<int32_t> x(4, 1), y(4);
        auto text = [&](auto a, auto b, auto c) -> std::string {
            try {
                f(comm, x, a, b, c, y);
            } catch (const Error &e) { return e.what(); }
            return "";
        };
        CHECK(text(5, 200, true) == "");
        CHECK(text((int64_t(1) << 32) + 5, 200, true).find("a is 4294967301; an int32 is from -2147483648 to 2147483647") !=
              std::string::npos);
        CHECK(text(5, 300, true).find("b is 300; an uint8 is from 0 to 255") != std::string::npos);
        CHECK(text(5, -1, true).find("b is -1; an uint8 is from 0 to 255") != std::string::npos);
        CHECK(text(5, 1, 2).find("c is 2; a bool is 0 or 1") != std::string::npos);
    });
}

namespace {

std::string refusal(const std::function<void()> &f) {
    try {
        f();
    } catch (const Error &e) { return e.what(); }
    return "";
}

}  // namespace

TEST_CASE("A7: a pending maximum of integers is not negated") {
    for (auto &type : {u8, i8, i32}) {
        Size n{"n"};
        Var i{"i"};
        Input<Tensor> x{"x", type, {n}, partial(Max)};
        Output<Tensor> y{"y", type, {n}};
        Tensor negative{"negative"};
        negative(i) = -x(i);
        y = all_reduce(negative);
        CHECK(refusal([&] { Program p("negated", {x, y}); }) ==
              "In program negated: cannot define negative(i) = -x(i).\n"
              "  x(i) is partial(Max); of an integer the lowest has no negative, and an unsigned one wraps.\n"
              "Legal: reduce it first: all_reduce(x), or reduce_scatter(x, dim)");
    }
}

TEST_CASE("A10: conditions are counted as numbers") {
    Size n{"n"};
    Var i{"i"};
    Input<Tensor> x{"x", f32, {n}};
    CHECK(refusal([&] { Expr e = sum_over(i, x(i) > 0); }).find("Legal: what counts, sum_over(k, cast<int32_t>(condition))") !=
          std::string::npos);
    Output<Tensor> count{"count", i32, {}};
    count() = sum_over(i, cast<int32_t>(x(i) > 0));
    Program p{"counted", {x, count}};
    check_bits(p, Schedule(p), checked({1, 3}, {0, 5, 1003}));
}
