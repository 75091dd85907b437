// What lowering relies on in Halide 21. An upgrade that breaks one of these breaks the promise of same bits.
#include <doctest/doctest.h>
#include <cmath>
#include <cstring>
#include "lang/error.h"
#include "lower/halide_adapter.h"

using namespace stretto;
using Halide::Buffer;
using Halide::Func;
using Halide::ImageParam;
using Halide::Param;
using Halide::RDom;
using Halide::RVar;
using Halide::strict_float;
using Halide::TailStrategy;
using Halide::Tuple;
using Halide::undef;

namespace {

// o = (m, p) in place: m' = m / 2 + g; p' = p - m'. Returns (m', p') of element 2 for m = 4, p = 10, g = 1.
std::pair<float, float> in_place_tuple(bool with_remedy) {
    prepare_halide();
    ImageParam g(f32, 1, "g");
    Param<int> end("end");
    Var x("x");
    RDom r(0, end, "r");
    Func o("o");
    o(x) = Tuple(undef<float>(), undef<float>());
    Expr m1 = strict_float(o(r)[0] * 0.5f + g(r));
    std::vector<Expr> values{m1, strict_float(o(r)[1] - m1)};
    if (with_remedy) values = visible(values, {o(r)[0], o(r)[1]});
    o(r) = Tuple(values);
    RVar outer, inner;
    o.update().split(r, outer, inner, 8, TailStrategy::GuardWithIf).vectorize(inner);
    end.set(8);
    Buffer<float> gb(8), a(8), b(8);
    gb.fill(1);
    a.fill(4);
    b.fill(10);
    g.set(gb);
    o.realize(Halide::Realization({a, b}));
    return {a(2), b(2)};
}

}  // namespace

TEST_CASE("visible() makes in-place tuples right under strict floats") {
    CHECK(in_place_tuple(true) == std::make_pair(3.0f, 7.0f));
}

TEST_CASE("without visible() Halide 21 still gets them wrong: if this fails, the remedy can go") {
    CHECK(in_place_tuple(false) != std::make_pair(3.0f, 7.0f));
}

TEST_CASE("a strict product is rounded before it is added, an unwrapped one is fused, in one process") {
    prepare_halide();
    ImageParam a(f32, 1, "a"), b(f32, 1, "b"), c(f32, 1, "c");
    Var x("x");
    Func strict("strict"), fused("fused");
    strict(x) = strict_float(a(x) * b(x) + c(x));
    RDom k(0, 1);
    fused(x) = c(x);
    fused(x) += strict_float(a(x + k)) * strict_float(b(x + k));
    strict.vectorize(x, 16, TailStrategy::GuardWithIf);
    fused.vectorize(x, 16, TailStrategy::GuardWithIf).update().vectorize(x, 16, TailStrategy::GuardWithIf);
    const int n = 1003;
    Buffer<float> ab(n), bb(n), cb(n);
    for (int i = 0; i < n; i++) {
        ab(i) = 1.0f + i * 0x1p-12f;
        bb(i) = 1.0f - i * 0x1p-13f;
        cb(i) = -ab(i) * bb(i);  // cancellation shows the rounding
    }
    a.set(ab);
    b.set(bb);
    c.set(cb);
    Buffer<float> s = strict.realize({n}), f = fused.realize({n});
    bool has_fma = Halide::get_host_target().has_feature(Halide::Target::FMA);
    int differ = 0;
    for (int i = 0; i < n; i++) {
        volatile float product = ab(i) * bb(i);
        CHECK(s(i) == product + cb(i));
        if (has_fma) CHECK(f(i) == std::fma(ab(i), bb(i), cb(i)));
        differ += s(i) != f(i);
    }
    if (has_fma) CHECK(differ > 0);
}

TEST_CASE("errors of kernels are kept, not printed, and nothing aborts") {
    prepare_halide();
    ImageParam g(f32, 1, "g");
    Var x("x");
    Func f("f");
    f(x) = g(x + 5);
    Buffer<float> small(8);
    g.set(small);
    CHECK_THROWS_AS(f.realize({8}), Error);
    CHECK_THROWS_AS(parse_target("hots"), Error);
}
