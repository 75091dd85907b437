// Lesson 5, second half, from C++: <stretto/runtime.hpp> over the C interface has communicators that free
// themselves, ranks as threads, row-major views, and exceptions instead of codes.
#include <stretto/runtime.hpp>
#include <vector>
#include "claim.h"
#include "momentum_fused.h"

int main() {
    const int64_t n = 1000;
    std::vector<std::vector<float>> result(3);
    stretto::run(stretto::threads(3), [&](stretto::Communicator &c) {
        auto [begin, end] = c.slice(n);
        float *g = c.allocate<float>(n), *p = c.allocate<float>(n), *m = c.allocate<float>(end - begin);
        for (int64_t k = 0; k < n; k++) g[k] = float(c.rank() + 1), p[k] = 0;
        for (int64_t k = 0; k < end - begin; k++) m[k] = 0;
        stretto::check_status(momentum_fused(c, stretto::view(g, {n}), stretto::view(p, {n}),
                                             stretto::view(m, {end - begin}, {begin}), 0.5, 0.9));
        result[c.rank()].assign(p, p + n);
    });
    // The mean of 1, 2 and 3, times -0.5.
    lesson::claim("every rank has the step of the mean gradient",
                  result == std::vector<std::vector<float>>(3, std::vector<float>(n, -1.0f)));

    // What is wrong is a RuntimeError with the runtime's status and text.
    int status = 0;
    std::string text;
    try {
        stretto::run(stretto::threads(1), [&](stretto::Communicator &c) {
            std::vector<double> g(n);
            std::vector<float> p(n), m(n);
            stretto::check_status(momentum_fused(c, stretto::view(g.data(), {n}), stretto::view(p.data(), {n}),
                                                 stretto::view(m.data(), {n}), 0.5, 0.9));
        });
    } catch (const stretto::RuntimeError &e) {
        status = e.status();
        text = e.what();
    }
    std::printf("%s\n", text.c_str());
    lesson::claim("a gradient of doubles is refused", status == STRETTO_INVALID);
    return lesson::status();
}
