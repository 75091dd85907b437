#include <algorithm>
#include "collectives/plan/validate.h"
#include "lang/expand.h"
#include "lower/reductions.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Func;
using Halide::RDom;
using Halide::strict_float;
using Halide::TailStrategy;

namespace {

// Exact where 0 <= a < 2^31 and 0 < b < 2^31: (a + 1/2) / b is further from a whole number than the error. In vectors, which
// a division of integers is not.
Expr quotient(const Expr &a, const Expr &b) {
    return cast<int>(strict_float((cast<double>(a) + Expr(0.5)) * (Expr(1.0) / cast<double>(b))));
}

// May what an expression loads be read by the linear index as the last one? If its loads have the reduced indices as their
// last ones, in order, and nothing else uses those; and if there are no gaps in memory, which `condition` finds out. Not in
// kernels with Halide's own checks (of computed indices): they would not believe it.
class Dense : public IRMutator {
    using IRMutator::visit;
    const std::vector<Expr> &free, &reduced, &extents;  // row-major

    bool is(const Expr &index, size_t from_last) const {
        return from_last < reduced.size() && equal(index, reduced[reduced.size() - 1 - from_last]);
    }
    Expr visit(const Call *c) override {
        if (c->call_type != Call::Image) return IRMutator::visit(c);
        auto stride = [&](size_t k) {
            return cast<int64_t>(Variable::make(Halide::Int(32), c->name + ".stride." + std::to_string(k), c->param));
        };
        size_t in_place = 0, uses = 0;
        for (size_t j = 0; j < c->args.size(); j++) {
            bool whole = false;  // an index as it is
            for (auto &v : free) whole |= equal(c->args[j], v);
            for (auto &v : reduced) uses += equal(c->args[j], v), whole |= equal(c->args[j], v);
            possible &= whole;
            in_place += is(c->args[j], j);
        }
        possible &= uses == in_place && (in_place == 0 || in_place == reduced.size());
        for (size_t j = 0; possible && j + 1 < in_place; j++)
            condition = condition && stride(j + 1) == stride(j) * extents[reduced.size() - 1 - j];
        return make_zero(c->type);
    }

public:
    bool possible = true;
    Expr condition = const_true();

    // free, reduced: variables that stand in e for the indices. extents: of the reduced ones.
    Dense(const Expr &e, const std::vector<Expr> &free, const std::vector<Expr> &reduced, const std::vector<Expr> &extents)
        : free(free), reduced(reduced), extents(extents) {
        Expr rest = mutate(e);
        for (auto &v : reduced) possible &= !expr_uses_var(rest, v.as<Variable>()->name);
    }
};

static_assert(order_sub_block == plan::sub_block, "the runtime cuts sweeps at whole sub-blocks");

class Lanes {
    KernelBody &body;
    const Binding &reduction;
    const Type type;
    const std::vector<Var> &free;     // row-major
    std::vector<Expr> first, extent;  // of the reduced indices, row-major
    Expr count, dense;
    Var lane{"lane"}, part{"part"};

    // At these, and the free indices.
    std::vector<Expr> in_halide_order(std::vector<Expr> v) const {
        v.insert(v.end(), free.rbegin(), free.rend());
        return v;
    }
    Expr value(const std::vector<Expr> &reduced) const {
        std::vector<Expr> idx(free.begin(), free.end());
        idx.insert(idx.end(), reduced.begin(), reduced.end());
        return body.expression(reduction.value, idx);
    }
    Expr combined(const Expr &a, const Expr &b) const { return strict_float(combine(reduction.op, a, b)); }

    // The value of the element `group` + `offset` of sub-block `part`, one of `length` that are computed together.
    Expr element(const Expr &group, const Expr &offset, const Expr &length) const {
        const size_t last = extent.size() - 1;
        Expr linear = part * order_sub_block + group + offset;
        // What predicates guard Halide's analysis of bounds does not see.
        auto within = [&](size_t d, const Expr &i) { return first[d] + unsafe_promise_clamped(i, 0, extent[d] - 1); };
        if (last == 0) return value({within(0, linear)});
        Expr begin = cast<int64_t>(part) * order_sub_block, in_row = cast<int64_t>(extent[last]);
        Expr row = cast<int>(begin / in_row), column = cast<int>(begin % in_row) + group;
        // `below` rows below `row`.
        auto at = [&](const Expr &below) {
            std::vector<Expr> idx(extent.size());
            idx[last] = within(last, (column - below * extent[last]) + offset);
            Expr left = row + below;
            for (size_t d = last; d-- > 0;) {
                Expr above = d ? quotient(left, extent[d]) : Expr(0);
                idx[d] = within(d, left - above * extent[d]);
                left = above;
            }
            return idx;
        };
        // All in one row, or each by itself.
        Expr below = quotient(column, extent[last]);
        std::vector<Expr> together = at(below), apart = at(quotient(column + offset, extent[last]));
        Expr one_row = column - below * extent[last] + length <= extent[last];
        if (dense.defined()) {
            one_row = dense || one_row;
            for (size_t d = 0; d < last; d++) together[d] = select(dense, first[d], together[d]);
            together[last] = select(dense, first[last] + linear, together[last]);
        }
        return Call::make(type, Call::if_then_else, {one_row, value(together), value(apart)}, Call::PureIntrinsic);
    }

public:
    explicit Lanes(KernelBody &body)
        : body(body), reduction(body.stage.body.bindings[0]), type(reduction.value.type()), free(body.vars) {
        count = make_one(Halide::Int(64));
        for (size_t d = free.size(); d < body.lo.size(); d++) {
            first.push_back(body.lo[d]);
            extent.push_back(body.hi[d] - body.lo[d]);
            count *= cast<int64_t>(extent.back());
        }
        if (extent.size() < 2) return;
        std::vector<Expr> standing_in;
        for (size_t d = 0; d < extent.size(); d++)
            standing_in.push_back(Variable::make(Halide::Int(32), "reduced" + std::to_string(d)));
        Dense d(value(standing_in), {free.begin(), free.end()}, standing_in, extent);
        if (d.possible) dense = d.condition && count < Expr(int64_t(1) << 31);
    }

    void define(const Halide::Target &target, const Expr &start) {
        const int vec = std::min(order_lanes, vector_width(body.stage, target, type, 8));
        const Expr identity = identity_of(reduction.op, type);
        const std::string name = body.out.name();
        Expr in_part = cast<int>(min(Expr(int64_t(order_sub_block)), count - cast<int64_t>(part) * order_sub_block));
        Expr groups = in_part / order_lanes;

        Func whole(name + "_whole"), rest(name + "_rest");
        RDom r({{0, order_lanes}, {0, order_sub_block / order_lanes}}, "r"), t(0, cast<int>(count % order_lanes), "t");
        auto at = [&](const Expr &l) { return in_halide_order({l, part}); };
        whole(at(lane)) = identity;
        r.where(r[1] < groups);
        whole(at(r[0])) = combined(whole(at(r[0])), element(r[1] * order_lanes, r[0], order_lanes));
        rest(at(lane)) = identity;
        t.where(groups * order_lanes < in_part);
        rest(at(t)) = combined(rest(at(t)), element(groups * order_lanes, t, in_part % order_lanes));

        // Joined, then folded in halves.
        std::vector<Func> halves;
        Expr joined = combined(whole(at(lane)), rest(at(lane)));
        for (int w = order_lanes / 2; w; w /= 2) {
            halves.emplace_back(name + "_lanes" + std::to_string(2 * w));
            Func half = halves.back();
            half(at(lane)) = joined;
            joined = combined(half(at(lane)), half(at(lane + w)));
        }
        Func folded(name + "_folded"), result(name + "_result");
        folded(in_halide_order({part})) = substitute(lane.name(), 0, joined);
        RDom parts(0, cast<int>((count + (order_sub_block - 1)) / order_sub_block), "s");
        auto all = in_halide_order({});
        result(all) = start;
        result(all) = combined(result(all), folded(in_halide_order({parts})));
        body.out(all) = body.result(result(all));

        if (!free.empty()) result.compute_at(body.out, free.back());
        else result.compute_root();
        auto inside = [&](Func f) { f.compute_at(result, parts); };
        for (Func f : {whole, rest}) {
            inside(f);
            f.bound(lane, 0, order_lanes);
            if (vec > 1) f.vectorize(lane, vec);
        }
        for (size_t k = 0; k < halves.size(); k++) {
            int lanes_left = order_lanes >> k;
            inside(halves[k]);
            halves[k].bound(lane, 0, lanes_left);
            if (vec > 1) halves[k].vectorize(lane, std::min(vec, lanes_left));
        }
        Halide::RVar to("to"), ti("ti");
        if (vec > 1) {
            whole.update().vectorize(r[0], vec).unroll(r[0]);
            rest.update().split(t, to, ti, vec, TailStrategy::GuardWithIf).vectorize(ti);
        } else {
            rest.update().unscheduled();
        }
        if (dense.defined())
            for (Func f : {whole, rest}) f.update().specialize(dense);
        result.update().unscheduled();
    }
};

}  // namespace

void define_lanes(KernelBody &body, const Halide::Target &target, const Expr &start) { Lanes(body).define(target, start); }

}  // namespace stretto
