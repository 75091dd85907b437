// Offsets past 2^31 elements: extents of 65536 x 65536 compile, and what is far away in memory is reached or refused.
#include "jit.h"

#include <sys/mman.h>

using namespace stretto;
using namespace stretto::test;

namespace {

// Address space; pages that are touched have memory.
struct Reserved {
    size_t bytes;
    void *data;
    explicit Reserved(size_t bytes)
        : bytes(bytes), data(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    }
    ~Reserved() {
        munmap(data, bytes);
    }
};

}  // namespace

TEST_CASE("extents [65536, 65536] compile") {
    Var i{"i"}, j{"j"};
    Input<Tensor> g{"g", f32, {65536, 65536}, partial(Sum)}, x{"x", f32, {65536, 65536}, sliced(0)};
    Output<Tensor> out{"out", f32, {65536, 65536}, sliced(0)}, rows{"rows", f32, {65536}, sliced(0)};
    Tensor sum{"sum"};
    sum = reduce_scatter(g, 0);
    out(j, i) = sum(j, i) + x(j, i);
    rows(j) = sum_over(i, x(j, i));
    Program p{"large", {g, x, out, rows}};
    Schedule s(p);
    s.fuse_all();
    compile(p, s);
    compile(p);
}

namespace {

const int64_t stride = int64_t(1) << 30;
int value(int64_t row, int64_t k) {
    return int(10 * row + k % 7);
}

// Runs f on x[3, 100], whose rows are far apart, and an output like it. Returns the error's text, "" if there was none.
std::string call(const Compiled &f, const std::function<void(const int8_t *)> &look) {
    Reserved in(size_t(3 * stride)), out(size_t(3 * stride));
    if (in.data == MAP_FAILED || out.data == MAP_FAILED) return "STRETTO_INVALID: no address space for argument x";
    auto *a = static_cast<int8_t *>(in.data), *b = static_cast<int8_t *>(out.data);
    for (int64_t r = 0; r < 3; r++)
        for (int64_t k = 0; k < 100; k++) a[r * stride + k] = int8_t(value(r, k));
    std::string refused;
    run(threads(1), [&](Communicator &c) {
        View vx = view(a, {3, 100}), vy = view(b, {3, 100});
        vx.get()->dim[1].stride = vy.get()->dim[1].stride = int32_t(stride);
        try {
            f(c, vx, vy);
        } catch (const RuntimeError &e) { refused = e.what(); }
    });
    if (refused.empty()) look(b);
    return refused;
}

}  // namespace

TEST_CASE("rows that are 2^30 elements apart: the third begins at 2^31") {
    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", i8, {3, n}};
    Output<Tensor> y{"y", i8, {3, n}};
    Tensor total{"total"};
    total() = sum_over({j, i}, cast<int>(x(j, i)));
    y(j, i) = x(j, i) + cast<int8_t>(total() % 100);
    int total_value = 0;
    for (int64_t r = 0; r < 3; r++)
        for (int64_t k = 0; k < 100; k++) total_value += value(r, k);
    CHECK(call(compile(Program{"far", {x, y}}), [&](const int8_t *b) {
              for (int64_t r = 0; r < 3; r++)
                  for (int64_t k = 0; k < 100; k++) CHECK(b[r * stride + k] == value(r, k) + total_value % 100);
          }) == "");
}

TEST_CASE("kernels that walk over all rows themselves: right, or an error that says how large is too large") {
    Size n{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", i8, {3, n}};
    Output<Tensor> y{"y", i8, {3, n}};
    y(j, i) = x(2 - j, i);
    std::string text = call(compile(Program{"flipped", {x, y}}), [&](const int8_t *b) {
        for (int64_t r = 0; r < 3; r++)
            for (int64_t k = 0; k < 100; k++) CHECK(b[r * stride + k] == value(2 - r, k));
    });
    CHECK_MESSAGE((text.empty() || text.find("exceeds the maximum size of 2147483647") != std::string::npos), text);

    Output<Tensor> z{"z", i8, {3, n}};
    Tensor rows{"rows"};
    rows(j) = sum_over(i, x(j, i));
    z(j, i) = rows(j) + cast<int8_t>(i) + cast<int8_t>(0) * x(j, i);
    text = call(compile(Program{"rows", {x, z}}), [&](const int8_t *b) {
        for (int64_t r = 0; r < 3; r++) {
            int sum = 0;
            for (int64_t k = 0; k < 100; k++) sum += value(r, k);
            for (int64_t k = 0; k < 100; k++) CHECK(b[r * stride + k] == int8_t(sum + k));
        }
    });
    CHECK(text == "");
}
