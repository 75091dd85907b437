// Contractions at ragged edges: every way the kernel is scheduled gives the bits of a sequential chain of fused
// multiply-adds, also for NaN, infinities, -0 and cancellation.
#include <doctest/doctest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include "../programs.h"
#include "lower/lower.h"

using namespace stretto;

namespace {

// y(b, h) = sum over k of x(b, k) * w(k, h), with either operand stored the other way round.
struct Product {
    std::string name;
    bool x_transposed, w_transposed;

    Program make() const {
        Size B{"B"}, K{"K"}, H{"H"};
        Var b{"b"}, k{"k"}, h{"h"};
        Input<Tensor> x{"x", f32, x_transposed ? std::vector<Extent>{K, B} : std::vector<Extent>{B, K}};
        Input<Tensor> w{"w", f32, w_transposed ? std::vector<Extent>{H, K} : std::vector<Extent>{K, H}};
        Output<Tensor> y{"y", f32, {B, H}};
        Expr a = x_transposed ? x(k, b) : x(b, k), c = w_transposed ? w(h, k) : w(k, h);
        y(b, h) = sum_over(k, a * c);
        return Program{name, {x, w, y}};
    }
    // Element (row, column) of a rows x columns matrix that may be stored transposed.
    static size_t at(bool transposed, int row, int column, int rows, int columns) {
        return size_t(transposed ? column * rows + row : row * columns + column);
    }
    static std::vector<int64_t> shape(bool transposed, int rows, int columns) {
        return transposed ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
    }
};

// The next link of the chain.
float accumulated(float acc, float a, float b) {
    static const bool fused = Halide::get_host_target().has_feature(Halide::Target::FMA);
    if (fused) return std::fma(a, b, acc);
    volatile float product = a * b;
    return acc + product;
}

// Of very different sizes, so that a product that is rounded before it is added shows.
std::vector<float> values(size_t count, std::mt19937 &random) {
    std::vector<float> v(count);
    for (auto &e : v) e = float(std::ldexp(double(random()) / 4294967296.0 - 0.5, int(random() % 20)));
    return v;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("ragged matrix products are chains of fused multiply-adds") {
    std::mt19937 random(7);
    for (auto &p :
         {Product{"plain", false, false}, Product{"transposed_x", true, false}, Product{"transposed_w", false, true}}) {
        Compiled f = compile(p.make());
        for (auto [B, K, H] : {std::array<int, 3>{1, 1, 1},
                               {0, 4, 5},
                               {4, 0, 5},
                               {4, 3, 0},
                               {7, 5, 47},
                               {6, 64, 64},
                               {5, 3, 65},
                               {17, 129, 97},
                               {33, 7, 145},
                               {3, 300, 3},
                               {36, 66, 257},
                               {1057, 6, 50},
                               {2113, 33, 3}}) {
            INFO(p.name << " " << B << " x " << K << " x " << H);
            std::vector<float> x = values(size_t(B) * K + 1, random), w = values(size_t(K) * H + 1, random);
            std::vector<float> y(size_t(B) * H + 1, -7.0f);
            if (B > 8 && K > 8) {
                const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                                          std::numeric_limits<float>::infinity(),
                                          -std::numeric_limits<float>::infinity(),
                                          -0.0f,
                                          0.0f,
                                          1e-42f,
                                          3e38f,
                                          -3e38f};
                for (int i = 0; i < 8; i++) x[random() % x.size()] = specials[i];
            }
            int rows = B, depth = K, columns = H;
            run(threads(1), [&](Communicator &c) {
                f(c, view(x.data(), Product::shape(p.x_transposed, rows, depth)),
                  view(w.data(), Product::shape(p.w_transposed, depth, columns)), view(y.data(), {rows, columns}));
            });
            int wrong = 0;
            for (int b = 0; b < B; b++)
                for (int h = 0; h < H; h++) {
                    float acc = 0;
                    for (int k = 0; k < K; k++)
                        acc = accumulated(acc, x[Product::at(p.x_transposed, b, k, B, K)],
                                          w[Product::at(p.w_transposed, k, h, K, H)]);
                    wrong += !same(acc, y[size_t(b) * H + h]);
                }
            CHECK(wrong == 0);
            CHECK(y.back() == -7.0f);
        }
    }
}

TEST_CASE("so are products over two indices, which are no matrix products: along the last index") {
    Size B{"B"}, K{"K"};
    Var b{"b"}, c{"c"}, k{"k"}, l{"l"};
    Input<Tensor> x{"x", f32, {K, 2, B}}, v{"v", f32, {K, 2, 3}};
    Output<Tensor> y{"y", f32, {3, B}};
    y(c, b) = sum_over({k, l}, x(k, l, b) * v(k, l, c));
    Compiled f = compile(Program{"two_indices", {x, v, y}});
    std::mt19937 random(11);
    for (auto [rows, columns] : {std::array<int, 2>{1, 1}, {300, 5}, {7, 16}, {65, 33}, {0, 9}}) {
        INFO(rows << " x " << columns);
        const int n = rows, m = columns;
        std::vector<float> xs = values(size_t(n) * 2 * m + 1, random), vs = values(size_t(n) * 2 * 3 + 1, random);
        std::vector<float> ys(size_t(3) * m, -7.0f);
        run(threads(1), [&](Communicator &c) {
            f(c, view(xs.data(), {n, 2, m}), view(vs.data(), {n, 2, 3}), view(ys.data(), {3, m}));
        });
        int wrong = 0;
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < m; i++) {
                float acc = 0;
                for (int r = 0; r < 2 * n; r++) acc = accumulated(acc, xs[size_t(r) * m + i], vs[size_t(r) * 3 + j]);
                wrong += !same(acc, ys[size_t(j) * m + i]);
            }
        CHECK(wrong == 0);
    }
}

TEST_CASE("lanes that a schedule asks for are those of the panels, with the same bits") {
    Program p = Product{"plain", false, false}.make();
    for (int lanes : {1, 2, 16, 32}) {
        Schedule s = Schedule::parse(p, "vectorize(y, " + std::to_string(lanes) + ")\n");
        CheckOptions o;
        o.ranks = {1};
        o.sizes = {1, 37, 130};
        CHECK_MESSAGE(check(p, s, o).ok(), lanes << " lanes");
        LowerOptions options;
        options.target = parse_target("x86-64-linux-avx2-fma");
        std::ostringstream code;
        Lowered lowered = lower(s.graph(), options);
        for (auto &f : lowered.module.functions()) code << f.body;
        std::string vectors = "x" + std::to_string(lanes) + "(";
        CHECK((code.str().find(vectors) != std::string::npos) == (lanes > 1));
    }
}
