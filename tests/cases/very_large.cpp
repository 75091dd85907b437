// Whole tensors of more than 2^31 elements, whose extents are legal each: every element is right on every rank.
// Takes up to 14 GB of memory, hence only with STRETTO_LONG=1 (./run test --long).
#include "jit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/skip.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// Bytes of zero pages.
struct Bytes {
    int64_t size;
    int8_t *data = nullptr;
    explicit Bytes(int64_t size) : size(size) {
        void *pages = mmap(nullptr, size_t(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(pages != MAP_FAILED);
        data = static_cast<int8_t *>(pages);
    }
    Bytes(const Bytes &) = delete;
    ~Bytes() { munmap(data, size_t(size)); }
};

int8_t value(int64_t row, int64_t column) { return int8_t((row * 31 + column * 7 + (column >> 8)) & 15); }

void fill_rows(const Bytes &b, int64_t rows, int64_t columns) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) b.data[r * columns + c] = value(r, c);
}

// Elements of rows [begin, end) at `from` that are not `times` the value.
int64_t wrong(const int8_t *from, int64_t begin, int64_t end, int64_t columns, int times) {
    int64_t count = 0;
    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < columns; c++) count += from[(r - begin) * columns + c] != int8_t(times * value(r, c));
    return count;
}

}  // namespace

// The first: it may end the program.
TEST_CASE("is there memory for it?") {
    if (!std::getenv("STRETTO_LONG")) skip("cases.very_large", "tensors of 2^31 to 2^32 bytes: ./run test --long");
    if (sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) < (int64_t(14) << 30))
        skip("cases.very_large", "tensors of 2^31 to 2^32 bytes need 14 GB of free memory");
}

TEST_CASE("A19: an outer sum of 46342 x 46342") {
    const int64_t n = 46342;
    Size size{"n"};
    Var i{"i"}, j{"j"};
    Input<Tensor> x{"x", i8, {size}}, y{"y", i8, {size}};
    Output<Tensor> o{"o", i8, {size, size}};
    o(i, j) = x(i) + y(j);
    Compiled f = compile(Program{"outer", {x, y, o}});
    std::vector<int8_t> a(static_cast<size_t>(n)), b(a);
    for (int64_t k = 0; k < n; k++) a[size_t(k)] = int8_t(31 * k), b[size_t(k)] = int8_t(k >> 3);
    Bytes out(n * n);
    run(threads(1), [&](Communicator &c) { f(c, view(a.data(), {n}), view(b.data(), {n}), view(out.data, {n, n})); });
    int64_t count = 0;
    for (int64_t r = 0; r < n; r++)
        for (int64_t k = 0; k < n; k++) count += out.data[r * n + k] != int8_t(a[size_t(r)] + b[size_t(k)]);
    CHECK(count == 0);
}

TEST_CASE("A19, A19b: an all-reduce of 46342 x 46342, of 65536 x 65536 and of 4 x (2^29 + 1) on two ranks") {
    const std::pair<int64_t, int64_t> shapes[] = {{46342, 46342}, {65536, 65536}, {4, (int64_t(1) << 29) + 1}};
    for (auto &[rows, columns] : shapes) {
        Size h{"h"}, w{"w"};
        Input<Tensor> x{"x", i8, {h, w}, partial(Sum)};
        Output<Tensor> y{"y", i8, {h, w}};
        y = all_reduce(x);
        Compiled f = compile(Program{"sum", {x, y}});
        Bytes in(rows * columns);
        fill_rows(in, rows, columns);
        run(threads(2), [&, rows = rows, columns = columns](Communicator &c) {
            Bytes out(rows * columns);
            f(c, view(in.data, {rows, columns}), view(out.data, {rows, columns}));
            CHECK(wrong(out.data, 0, rows, columns, 2) == 0);
        });
    }
}

TEST_CASE("A19b: a reduce-scatter of 65536 x 65536 on three ranks") {
    const int64_t n = 65536;
    Size h{"h"}, w{"w"};
    Input<Tensor> x{"x", i8, {h, w}, partial(Sum)};
    Output<Tensor> y{"y", i8, {h, w}, sliced(0)};
    y = reduce_scatter(x, 0);
    Compiled f = compile(Program{"part", {x, y}});
    Bytes in(n * n);
    fill_rows(in, n, n);
    run(threads(3), [&](Communicator &c) {
        auto [begin, end] = c.slice(n);
        Bytes out((end - begin) * n);
        f(c, view(in.data, {n, n}), view(out.data, {end - begin, n}, {begin, 0}));
        CHECK(wrong(out.data, begin, end, n, 3) == 0);
    });
}
