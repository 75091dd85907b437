// Contractions at ragged edges: every way the kernel is scheduled gives the bits of a sequential chain of fused
// multiply-adds, also for NaN, infinities, -0 and cancellation.
#include <doctest/doctest.h>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include "../programs.h"

using namespace stretto;

namespace {

// y(b, h) = sum over k of x(b, k) * w(k, h), the layouts of the operands as given by the flags.
struct Product {
    std::string name;
    std::function<Program()> make;
    std::function<int(int b, int k, int K, int B)> x;  // position of x's element
    std::function<int(int k, int h, int K, int H)> w;
};

Program plain() {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}}, w{"w", f32, {K, H}};
    Output<Tensor> y{"y", f32, {B, H}};
    y(b, h) = sum_over(k, x(b, k) * w(k, h));
    return Program{"plain", {x, w, y}};
}
Program transposed_x() {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {K, B}}, w{"w", f32, {K, H}};
    Output<Tensor> y{"y", f32, {B, H}};
    y(b, h) = sum_over(k, x(k, b) * w(k, h));
    return Program{"transposed_x", {x, w, y}};
}
Program transposed_w() {
    Size B{"B"}, K{"K"}, H{"H"};
    Var b{"b"}, k{"k"}, h{"h"};
    Input<Tensor> x{"x", f32, {B, K}}, w{"w", f32, {H, K}};
    Output<Tensor> y{"y", f32, {B, H}};
    y(b, h) = sum_over(k, w(h, k) * x(b, k));
    return Program{"transposed_w", {x, w, y}};
}

const std::vector<Product> &products() {
    static const std::vector<Product> p = {
        {"plain", plain, [](int b, int k, int K, int) { return b * K + k; },
         [](int k, int h, int, int H) { return k * H + h; }},
        {"transposed_x", transposed_x, [](int b, int k, int, int B) { return k * B + b; },
         [](int k, int h, int, int H) { return k * H + h; }},
        {"transposed_w", transposed_w, [](int b, int k, int K, int) { return b * K + k; },
         [](int k, int h, int K, int) { return h * K + k; }},
    };
    return p;
}

bool same(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

}  // namespace

TEST_CASE("ragged matrix products are chains of fused multiply-adds") {
    bool fused = Halide::get_host_target().has_feature(Halide::Target::FMA);
    std::mt19937 random(7);
    for (auto &p : products()) {
        Program program = p.make();
        Compiled f = compile(program);
        for (auto [B, K, H] : {std::array<int, 3>{1, 1, 1},
                               {0, 4, 5},
                               {4, 0, 5},
                               {4, 3, 0},
                               {7, 5, 47},
                               {8, 64, 48},
                               {9, 63, 49},
                               {17, 129, 97},
                               {33, 7, 145},
                               {3, 300, 3}}) {
            INFO(p.name << " " << B << " x " << K << " x " << H);
            std::vector<float> x(size_t(B) * K + 1), w(size_t(K) * H + 1), y(size_t(B) * H + 1, -7.0f);
            for (auto *v : {&x, &w})
                for (auto &e : *v)
                    e = float(std::ldexp(double(random()) / 4294967296.0 - 0.5, int(random() % 20)));
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
            run(threads(1), [&](Communicator &c) {
                int64_t b = B, k = K, h = H;
                auto shape = [&](const std::string &n) {
                    if (n == "x")
                        return p.name == "transposed_x" ? std::vector<int64_t>{k, b}
                                                        : std::vector<int64_t>{b, k};
                    return p.name == "transposed_w" ? std::vector<int64_t>{h, k} : std::vector<int64_t>{k, h};
                };
                f(c, view(x.data(), shape("x")), view(w.data(), shape("w")), view(y.data(), {b, h}));
            });
            int wrong = 0;
            for (int b = 0; b < B; b++)
                for (int h = 0; h < H; h++) {
                    float acc = 0;
                    for (int k = 0; k < K; k++) {
                        float a = x[size_t(p.x(b, k, K, B))], c = w[size_t(p.w(k, h, K, H))];
                        if (fused) {
                            acc = std::fma(a, c, acc);
                        } else {
                            volatile float product = a * c;
                            acc = acc + product;
                        }
                    }
                    wrong += !same(acc, y[size_t(b) * H + h]);
                }
            CHECK(wrong == 0);
            CHECK(y.back() == -7.0f);
        }
    }
}
