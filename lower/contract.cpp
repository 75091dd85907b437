#include <algorithm>
#include <optional>
#include "lang/error.h"
#include "lang/expand.h"
#include "lower/reductions.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Func;
using Halide::likely;
using Halide::RDom;
using Halide::strict_float;
using Halide::TailStrategy;

namespace {

// Is e read from memory, with a conversion at most, or a scalar argument?
bool is_plain(const Expr &e) {
    if (const Cast *c = e.as<Cast>()) return is_plain(c->value);
    const Call *c = e.as<Call>();
    return e.as<Variable>() || (c && (c->call_type == Call::Halide || c->call_type == Call::Image));
}

// acc + value, a product. Product and sum are left for LLVM to fuse, and with that to reorder: of `acc + sqrt(x) * sqrt(x)`
// it makes `acc + x`, though the roots are strict. So a factor that is computed goes through integers, by an exclusive or
// with `zero`, which is 0 in every call but not known to be. A target that cannot fuse them rounds the product.
Expr add_product(const Expr &acc, const Expr &value, const Expr &zero, const Halide::Target &target) {
    const Mul *m = value.as<Mul>();
    if (!value.type().is_float()) return acc + value;
    if (!has_fused_multiply_add(target)) return strict_float(acc + value);
    auto factor = [&](const Expr &e) {
        if (is_plain(e)) return strict_float(e);
        Type bits = Halide::Int(e.type().bits());
        return reinterpret(e.type(), reinterpret(bits, strict_float(e)) ^ cast(bits, zero));
    };
    return acc + factor(m->a) * factor(m->b);
}

// The indices of a matrix product sum_over(k, a * b): x, the last one, only in one part, y only in the other.
struct Product {
    int x, y;  // loops
    Expr with_x, with_y;
};

std::optional<Product> match_product(const Stage &s) {
    const Binding &b = s.body.bindings[0];
    const Mul *m = b.value.as<Mul>();
    if (b.op != Sum || !m || !b.value.type().is_float() || int(s.loops.size()) != s.outputs + 1 || s.outputs < 2) return {};
    auto uses = [](const Expr &part, int loop) {
        const Names used = indices_used(part);
        return std::count(used.begin(), used.end(), loop_name(loop)) > 0;
    };
    const int x = s.outputs - 1, k = s.outputs;
    const bool first = uses(m->a, x);
    if (first == uses(m->b, x)) return {};
    const Expr &with_x = first ? m->a : m->b, &with_y = first ? m->b : m->a;
    if (!uses(with_x, k) || !uses(with_y, k)) return {};
    for (int y = x; y-- > 0;)
        if (uses(with_y, y) && !uses(with_x, y)) return Product{x, y, with_x, with_y};
    return {};
}

// Is the part read where it lies, along a row of memory as the reduced index grows? Then the tile reads its rows themselves:
// copying them costs as much as the product when there are few columns.
bool reads_rows(const Expr &part, const Stage &s) {
    const Call *read = as_access(part);
    return read && part.type() == s.body.bindings[0].value.type() && loop_number(indices_of(read).back()) == s.outputs;
}

// 0, which the compiler does not know: no range begins below 0.
Expr zero(const KernelBody &body) { return body.lo[0] >> 31; }

void along_last_index(KernelBody &body, const Halide::Target &target) {
    const Binding &reduction = body.stage.body.bindings[0];
    const Type type = reduction.value.type();
    const ReduceOp op = reduction.op;
    RDom r = body.domain(body.vars.size());
    std::vector<Expr> idx(body.vars.begin(), body.vars.end());
    for (int k = r.dimensions(); k-- > 0;) idx.push_back(r[k]);
    Func acc(body.out.name() + "_acc");
    auto at = reversed(body.vars);
    Expr value = body.expression(reduction.value, idx);
    acc(at) = identity_of(op, type);
    acc(at) = body.stage.order == Order::Chain ? add_product(acc(at), value, zero(body), target)
                                               : strict_float(combine(op, acc(at), value));
    body.out(at) = body.result(acc(at));
    const int width = vector_width(body.stage, target, type);
    Var x = body.vars.back(), outer("outer"), strip("strip"), inner("inner");
    if (width <= 1) {
        acc.compute_at(body.out, x);
        return;
    }
    // A strip of accumulators stays in cache while rows of memory pass by.
    body.out.split(x, outer, strip, 32 * width, TailStrategy::GuardWithIf)
        .split(strip, strip, inner, width, TailStrategy::GuardWithIf)
        .vectorize(inner);
    acc.compute_at(body.out, outer).vectorize(x, width, TailStrategy::GuardWithIf);
    std::vector<Halide::VarOrRVar> order{x};
    for (int j = 0; j < r.dimensions(); j++) order.push_back(Halide::RVar(r[j]));
    acc.update().reorder(order).vectorize(x, width, TailStrategy::GuardWithIf);
}

void as_product(KernelBody &body, const Product &p, const Halide::Target &target) {
    const Stage &s = body.stage;
    const Type type = s.body.bindings[0].value.type();
    const int vec = vector_width(s, target, type), TY = 6, TX = vec * (target.has_feature(Halide::Target::AVX512) ? 4 : 2);
    const size_t dx = size_t(p.x), dy = size_t(p.y), K = body.vars.size();
    const std::vector<Expr> &lo = body.lo, &hi = body.hi;
    Var x = body.vars[dx], y = body.vars[dy], xi("xi"), xo("xo"), yi("yi"), yo("yo"), k("k");
    std::vector<Var> batch;  // Halide order
    for (size_t d = K; d-- > 0;)
        if (d != dx && d != dy) batch.push_back(body.vars[d]);
    auto with_batch = [&](std::vector<Expr> v) {
        v.insert(v.end(), batch.begin(), batch.end());
        return v;
    };
    // A factor with one of the loops over results replaced.
    auto factor = [&](const Expr &part, size_t replaced, const Expr &by) {
        std::vector<Expr> at(body.vars.begin(), body.vars.end());
        at[replaced] = by;
        at.push_back(k);
        return strict_float(body.expression(part, at));
    };
    // Past the edge the last row or column is computed again and thrown away. `likely` makes Halide cut the loops so
    // that tiles inside need no clamp.
    Expr at_x = min(likely(lo[dx] + xo * TX + xi), hi[dx] - 1), at_y = min(likely(lo[dy] + yo * TY + yi), hi[dy] - 1);
    const std::string name = body.out.name();
    Func b(name + "_b"), a(name + "_a"), acc(name + "_acc");
    b(with_batch({xi, k, xo})) = factor(p.with_x, dx, at_x);
    a(with_batch({yi, k, yo})) = factor(p.with_y, dy, at_y);
    RDom r(lo[K], hi[K] - lo[K], "r");
    auto tile = with_batch({xi, yi, xo, yo});
    acc(tile) = make_zero(type);
    acc(tile) = add_product(acc(tile), a(with_batch({yi, r, yo})) * b(with_batch({xi, r, xo})), zero(body), target);
    Expr rx = x - lo[dx], ry = y - lo[dy];
    body.out(reversed(body.vars)) = body.result(acc(with_batch({rx % TX, ry % TY, rx / TX, ry / TY})));

    // Few blocks of rows, since each packs all panels again.
    const int rows = 176 * TY;
    Var yb("yb");
    std::vector<Halide::VarOrRVar> order{xi, yi, yo, xo, yb};
    order.insert(order.end(), batch.begin(), batch.end());
    for (size_t d = 0; d < K; d++) body.out.output_buffer().dim(int(K - 1 - d)).set_bounds(lo[d], hi[d] - lo[d]);
    body.out.split(x, xo, xi, TX, TailStrategy::GuardWithIf)
        .split(y, yo, yi, TY, TailStrategy::GuardWithIf)
        .split(yo, yb, yo, rows / TY, TailStrategy::GuardWithIf)
        .reorder(order)
        .vectorize(xi, vec, TailStrategy::GuardWithIf)
        .unroll(xi)
        .unroll(yi)
        .never_partition(yb);
    b.compute_at(body.out, xo).bound_extent(xi, TX).vectorize(xi, vec).unroll(xi);
    if (!reads_rows(p.with_y, s)) a.compute_at(body.out, yb).bound_extent(yi, TY).reorder(yi, k, yo).unroll(yi);
    // The tile stays in registers over the whole reduction. Four steps at a time: scalar instructions take the ports of
    // multiply-adds, and a step's addresses are most of its instructions besides.
    Halide::RVar ko("ko"), ki("ki");
    acc.compute_at(body.out, yo)
        .bound_extent(xi, TX)
        .bound_extent(yi, TY)
        .bound_extent(xo, 1)
        .bound_extent(yo, 1)
        .vectorize(xi, vec)
        .unroll(xi)
        .unroll(yi);
    acc.update()
        .split(r, ko, ki, 4, TailStrategy::GuardWithIf)
        .reorder(xi, yi, ki, ko)
        .vectorize(xi, vec)
        .unroll(xi)
        .unroll(yi)
        .unroll(ki);
}

}  // namespace

void define_contraction(KernelBody &body, const Halide::Target &target) {
    if (auto product = match_product(body.stage)) as_product(body, *product, target);
    else along_last_index(body, target);
}

}  // namespace stretto
