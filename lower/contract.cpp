#include "lower/contract.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"
#include "lang/order.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Func;
using Halide::likely;
using Halide::RDom;
using Halide::strict_float;
using Halide::TailStrategy;

namespace {

bool contains(const Names &v, const std::string &x) { return std::find(v.begin(), v.end(), x) != v.end(); }

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

// The indices of a matrix product sum_over(k, a * b): x only in one part, y only in the other.
struct Product {
    bool found = false;
    int x = 0, y = 0;  // loops
    Expr with_x, with_y;
};

Product match_product(const Stage &s) {
    Product p;
    const Binding &b = s.body.bindings[0];
    const Mul *m = b.value.as<Mul>();
    if (b.op != Sum || !m || !b.value.type().is_float() || int(s.loops.size()) != s.outputs + 1 || s.outputs < 2) return p;
    Names a = indices_used(m->a), other = indices_used(m->b);
    p.x = s.outputs - 1;
    if (contains(a, loop_name(p.x)) == contains(other, loop_name(p.x))) return p;
    bool swapped = contains(a, loop_name(p.x));
    p.with_x = swapped ? m->a : m->b;
    p.with_y = swapped ? m->b : m->a;
    Names with_x = swapped ? a : other, with_y = swapped ? other : a;
    if (!contains(with_x, loop_name(s.outputs)) || !contains(with_y, loop_name(s.outputs))) return p;
    for (int d = s.outputs - 1; d-- > 0;)
        if (contains(with_y, loop_name(d)) && !contains(with_x, loop_name(d))) {
            p.y = d;
            p.found = true;
            break;
        }
    return p;
}

// Is the part read where it lies, along a row of memory as the reduced index grows? Then the tile reads its rows themselves:
// copying them costs as much as the product when there are few columns.
bool reads_rows(const Expr &part, const Stage &s) {
    const Call *read = as_access(part);
    return read && part.type() == s.body.bindings[0].value.type() && loop_number(indices_of(read).back()) == s.outputs;
}

class Contraction {
    const Stage &s;
    const Binding &reduction;
    KernelBody &body;
    const std::vector<Expr> &lo, &hi;
    const Halide::Target &target;
    std::vector<Var> vars;  // row-major
    Type acc_type;
    std::string name;

    Expr zero() const { return lo[0] >> 31; }  // no range begins below 0

    std::vector<Var> reversed_vars() const { return {vars.rbegin(), vars.rend()}; }
    // Of the loops over results, one of them replaced, and the reduced one.
    std::vector<Expr> indices(int replaced, const Expr &by, const Expr &k) const {
        std::vector<Expr> v(vars.begin(), vars.end());
        v[size_t(replaced)] = by;
        v.push_back(k);
        return v;
    }
    // What is stored of the reduction's result.
    Expr result(const Expr &acc) const {
        body.set(0, acc);
        return body.finish(body.value(s.body.stored[0].binding));
    }

public:
    Contraction(const Stage &s, KernelBody &body, const std::vector<Expr> &lo, const std::vector<Expr> &hi,
                const Halide::Target &target)
        : s(s),
          reduction(s.body.bindings[0]),
          body(body),
          lo(lo),
          hi(hi),
          target(target),
          acc_type(reduction.value.type()),
          name(body.out.name()) {
        for (int d = 0; d < s.outputs; d++) vars.push_back(Var("x" + std::to_string(d)));
    }

    void along_last_index() {
        size_t D = vars.size();
        std::vector<Halide::Range> range;
        for (size_t d = lo.size(); d-- > D;) range.push_back(Halide::Range(lo[d], hi[d] - lo[d]));
        RDom r(range, "r");
        std::vector<Expr> idx(vars.begin(), vars.end());
        for (int k = r.dimensions(); k-- > 0;) idx.push_back(r[k]);
        const ReduceOp op = reduction.op;
        Func acc(name + "_acc");
        auto at = reversed_vars();
        Expr value = body.expression(reduction.value, idx);
        acc(at) = identity_of(op, acc_type);
        acc(at) = s.order == Order::Chain ? add_product(acc(at), value, zero(), target) : strict_float(combine(op, acc(at), value));
        body.out(at) = result(acc(at));
        int width =
            s.vectorize > 0 ? s.vectorize : target.natural_vector_size(acc_type.bits() < 32 ? Halide::Int(32) : acc_type);
        Var x = vars.back(), outer("outer"), strip("strip"), inner("inner");
        if (width <= 1) {
            acc.compute_at(body.out, x);
            return;
        }
        // A strip of accumulators stays in cache while rows of memory pass by.
        body.out.split(x, outer, strip, 32 * width, TailStrategy::GuardWithIf)
            .split(strip, strip, inner, width, TailStrategy::GuardWithIf)
            .vectorize(inner);
        acc.compute_at(body.out, outer).vectorize(x, width, TailStrategy::GuardWithIf);
        acc.update().reorder(reordered(x, r)).vectorize(x, width, TailStrategy::GuardWithIf);
    }
    static std::vector<Halide::VarOrRVar> reordered(const Var &x, const RDom &r) {
        std::vector<Halide::VarOrRVar> order{x};
        for (int j = 0; j < r.dimensions(); j++) order.push_back(Halide::RVar(r[j]));
        return order;
    }

    void as_product(const Product &p) {
        const int vec = s.vectorize > 0 ? s.vectorize : target.natural_vector_size(acc_type), TY = 6,
                  TX = vec * (target.has_feature(Halide::Target::AVX512) ? 4 : 2);
        const size_t dx = size_t(p.x), dy = size_t(p.y), K = vars.size();
        Var x = vars[dx], y = vars[dy], xi("xi"), xo("xo"), yi("yi"), yo("yo"), k("k");
        std::vector<Var> batch;  // Halide order
        for (size_t d = K; d-- > 0;)
            if (d != dx && d != dy) batch.push_back(vars[d]);
        auto with_batch = [&](std::vector<Expr> v) {
            v.insert(v.end(), batch.begin(), batch.end());
            return v;
        };
        auto args = [&](std::vector<Var> v) {
            v.insert(v.end(), batch.begin(), batch.end());
            return v;
        };
        // Past the edge the last row or column is computed again and thrown away. `likely` makes Halide cut the loops so
        // that tiles inside need no clamp.
        Expr at_x = min(likely(lo[dx] + xo * TX + xi), hi[dx] - 1),
             at_y = min(likely(lo[dy] + yo * TY + yi), hi[dy] - 1);
        Func b(name + "_b"), a(name + "_a"), acc(name + "_acc");
        b(args({xi, k, xo})) = strict_float(body.expression(p.with_x, indices(p.x, at_x, k)));
        a(args({yi, k, yo})) = strict_float(body.expression(p.with_y, indices(p.y, at_y, k)));
        RDom r(lo[K], hi[K] - lo[K], "r");
        acc(args({xi, yi, xo, yo})) = make_zero(acc_type);
        acc(args({xi, yi, xo, yo})) = add_product(acc(args({xi, yi, xo, yo})),
                                                  a(with_batch({yi, r, yo})) * b(with_batch({xi, r, xo})), zero(), target);
        Expr rx = x - lo[dx], ry = y - lo[dy];
        auto out_at = reversed_vars();
        body.out(out_at) = result(acc(with_batch({rx % TX, ry % TY, rx / TX, ry / TY})));

        // Few blocks of rows, since each packs all panels again.
        const int rows = 176 * TY;
        Var yb("yb");
        std::vector<Halide::VarOrRVar> order{xi, yi, yo, xo, yb};
        order.insert(order.end(), batch.begin(), batch.end());
        for (size_t d = 0; d < K; d++)
            body.out.output_buffer().dim(int(K - 1 - d)).set_bounds(lo[d], hi[d] - lo[d]);
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
};

}  // namespace

void define_contraction(const Stage &s, KernelBody &body, const std::vector<Expr> &lo, const std::vector<Expr> &hi,
                        const Halide::Target &target) {
    Contraction c(s, body, lo, hi, target);
    Product p = match_product(s);
    if (p.found) c.as_product(p);
    else c.along_last_index();
}

}  // namespace stretto
