#include "tests/random/random_generator.h"

namespace stretto {

namespace {

// The layout of a reduction of t over index r.
Known reduced(Known t, int r, ReduceOp op) {
    t.dims.erase(std::find(t.dims.begin(), t.dims.end(), r));
    if (t.sliced == r) {
        t.kind = Holding::Partial;
        t.op = op;
        t.sliced = -1;
    }
    return t;
}

Expr over(ReduceOp op, const std::vector<Var> &r, const Expr &e) {
    return op == Sum             ? sum_over(r, e)
           : op == Prod          ? prod_over(r, e)
           : op == ReduceOp::Max ? max_over(r, e)
                                 : min_over(r, e);
}

}  // namespace

// ---- steps. Each returns false if there is nothing that it could be done with.

bool ProgramGenerator::elementwise() {
    Known *first = find([](auto &t) { return t.kind != Holding::Partial; });
    if (!first) return false;
    Known result = *first;
    std::vector<Expr> operands{read(*first)};
    for (int k = draw.below(3); k > 0; k--) {
        Known *t = find([&](auto &t) { return joins(result, t); });
        if (result.dims != t->dims) counts["broadcast of dimensions"]++;
        std::vector<int> dims = joined_dims(result.dims, t->dims);
        // Nothing but a bare index reaches a slice, and only of an index that has an extent
        // from another read.
        bool known_extents = dims.size() == result.dims.size();
        Expr e = draw.chance(25) && known_extents ? read_moved(*t) : Expr();
        if (!e.defined() && draw.chance(25) && known_extents) e = look_up(*t, result);
        operands.push_back(e.defined() ? e : read(*t));
        if (result.kind == Holding::Replicated) result.kind = t->kind, result.sliced = t->sliced;
        result.dims = dims;
    }
    if (draw.chance(15)) {
        Expr e = inner_reduction(result);
        if (e.defined()) operands.push_back(e);
    }
    if (draw.chance(15)) {
        Known *t = find([&](auto &t) { return joins(result, t) && t.dims == result.dims; });
        if (t) {
            counts["whole-tensor operator"]++;
            t->read = true;
            Tensor both = draw.chance(50) ? t->tensor * t->tensor : t->tensor + t->tensor;
            std::vector<Expr> at;
            for (int d : t->dims) at.push_back(vars[size_t(d)]);
            operands.push_back(TensorRef(both.definition(), at));
            if (result.kind == Holding::Replicated) result.kind = t->kind, result.sliced = t->sliced;
        }
    }
    Surroundings here = around;
    here.indices = index_values(result.dims);
    here.rank = result.kind == Holding::Local && draw.chance(30);
    if (draw.chance(50)) here.seed = Expr();
    Type t = draw.chance(60) ? operands[0].type() : random_type();
    define(result, random_elementwise(draw, counts, t, operands, here, 1 + draw.below(options.chain)));
    counts["elementwise"]++;
    return true;
}

Expr ProgramGenerator::inner_reduction(const Known &result) {
    Known *t = find([&](auto &t) {
        return !t.dims.empty() && (t.kind == Holding::Replicated || t.kind == Holding::Sliced);
    });
    if (!t) return Expr();
    // The reduced indices are others than those on the left.
    std::vector<Var> reduced;
    std::vector<Expr> at;
    bool all = t->kind == Holding::Sliced || draw.chance(50);
    for (int d : t->dims) {
        bool on_left = std::find(result.dims.begin(), result.dims.end(), d) != result.dims.end();
        bool reduce = all || !on_left || (d == t->dims.back() && reduced.empty());
        if (reduce) reduced.emplace_back(vars[size_t(d)].name() + "r");
        at.push_back(reduce ? reduced.back() : vars[size_t(d)]);
    }
    ReduceOp op = random_op(*t);
    counts["reduction inside an expression"]++;
    t->read = true;
    IndexReduction r(op, reduced, TensorRef(t->tensor.definition(), at));
    if (t->kind != Holding::Sliced) return r;
    counts["sliced full reduction"]++;
    size_t sliced = size_t(std::find(t->dims.begin(), t->dims.end(), t->sliced) - t->dims.begin());
    return r.blocks(reduced[sliced]);
}

bool ProgramGenerator::linear() {
    Known *first = find([](auto &t) { return t.kind == Holding::Partial && t.op == Sum; });
    if (!first) return false;
    Known result = *first;
    std::vector<Expr> partials{read(*first)}, others;
    Known *second = find([&](auto &t) {
        return t.kind == Holding::Partial && t.op == Sum && t.type == result.type && &t != first;
    });
    if (second) {
        partials.push_back(read(*second));
        result.dims = joined_dims(result.dims, second->dims);
    }
    for (int k = draw.below(2); k > 0; k--) {
        Known *t = find([](auto &t) { return t.kind == Holding::Replicated; });
        others.push_back(read(*t));
        result.dims = joined_dims(result.dims, t->dims);
    }
    Surroundings here = around;
    if (draw.chance(50)) here.seed = Expr();
    define(result, random_linear(draw, counts, partials, others, here, 1 + draw.below(2)));
    counts["linear in a partial"]++;
    return true;
}

bool ProgramGenerator::extremum_of_partial() {
    Known *first = find([](auto &t) { return t.kind == Holding::Partial && t.op != Sum; });
    if (!first) return false;
    Known result = *first;
    Known *t = find([&](auto &t) {
        bool same = t.kind == Holding::Partial && t.op == result.op;
        return t.type == result.type &&
               (same || (result.op != Prod && t.kind == Holding::Replicated));
    });
    Expr a = read(*first), b = read(*t);
    result.dims = joined_dims(result.dims, t->dims);
    counts[result.op == Prod ? "partial(Prod) multiplied" : "partial maximum"]++;
    define(result, result.op == Prod ? a * b : result.op == ReduceOp::Max ? max(a, b)
                                                                          : min(a, b));
    return true;
}

bool ProgramGenerator::reduce_over_ranks() {
    Known *t = find([](auto &t) { return t.kind == Holding::Partial; });
    return t && reduce_over_ranks(*t);
}
bool ProgramGenerator::reduce_over_ranks(Known &operand) {
    Known t = operand;
    operand.read = true;
    Type type = is_float16(t.type) && draw.chance(40) ? f32 : t.type;
    t.kind = Holding::Replicated;
    counts[std::string("reduction over ranks ") + reduce_op_name(t.op)]++;
    if (!t.dims.empty() && draw.chance(40)) {
        int d = draw.below(int(t.dims.size()));
        t.kind = Holding::Sliced;
        t.sliced = t.dims[size_t(d)];
        counts["reduce_scatter"]++;
        define(t, type == t.type ? reduce_scatter(t.tensor, d) : reduce_scatter(t.tensor, d, type));
    } else {
        counts["all_reduce"]++;
        define(t, type == t.type ? all_reduce(t.tensor) : all_reduce(t.tensor, type));
    }
    return true;
}

bool ProgramGenerator::copy() {
    Known *found = find([](auto &t) { return t.kind != Holding::Partial && !t.dims.empty(); });
    if (!found) return false;
    found->read = true;
    Known t = *found;
    if (t.kind == Holding::Sliced) {
        counts["all_gather"]++;
        t.kind = Holding::Replicated;
        t.sliced = -1;
        define(t, all_gather(t.tensor));
    } else if (t.kind == Holding::Local && draw.chance(50)) {
        counts["shift"]++;
        int k = draw.pick<int>({1, -1, 2, -3, 0});
        define(t, draw.chance(30)   ? shift(t.tensor, k)
                  : draw.chance(50) ? shift(t.tensor, k, keep)
                                    : shift(t.tensor, k, fill(Halide::cast(t.type, 3))));
    } else if (t.kind == Holding::Local) {
        counts["broadcast"]++;
        t.kind = Holding::Replicated;
        define(t, broadcast(t.tensor, 0));
    } else {
        int d = draw.below(int(t.dims.size()));
        counts["slice_of"]++;
        t.kind = Holding::Sliced;
        t.sliced = t.dims[size_t(d)];
        define(t, slice_of(t.tensor, d));
    }
    return true;
}

ReduceOp ProgramGenerator::random_op(const Known &t) {
    if (t.kind == Holding::Partial) return t.op;
    return draw.chance(60) ? Sum : draw.pick<ReduceOp>({Prod, ReduceOp::Max, ReduceOp::Min});
}

bool ProgramGenerator::row_reduction() {
    Known *t = find([](auto &t) { return t.dims.size() > 1; });
    if (!t) return false;
    int r = draw.pick(t->dims);
    ReduceOp op = random_op(*t);
    Expr e = read(*t);
    counts[std::string("reduction of rows ") + reduce_op_name(op)]++;
    define(reduced(*t, r, op), over(op, {vars[size_t(r)]}, e));
    return true;
}

bool ProgramGenerator::contraction() {
    Known *a = find([](auto &t) { return t.kind != Holding::Partial; });
    if (!a) return false;
    Known *b = find([&](auto &t) { return joins(*a, t) && t.type == a->type; });
    if (!b) return false;
    Known t = *a;
    t.dims = joined_dims(a->dims, b->dims);
    if (t.dims.size() < 2) return false;
    if (t.kind == Holding::Replicated) t.kind = b->kind, t.sliced = b->sliced;
    int r = draw.pick(t.dims);
    counts["contraction"]++;
    Expr e = read(*a) * read(*b);
    define(reduced(t, r, Sum), sum_over(vars[size_t(r)], e));
    return true;
}

// Over all indices: a 0-dimensional tensor.
bool ProgramGenerator::full_reduction() {
    Known *t = find([](auto &t) { return !t.dims.empty(); });
    if (!t) return false;
    std::vector<Var> all;
    for (int d : t->dims) all.push_back(vars[size_t(d)]);
    ReduceOp op = random_op(*t);
    Expr e = read(*t);
    Known result = *t;
    result.dims.clear();
    if (t->kind == Holding::Sliced) {
        counts["sliced full reduction"]++;
        result.kind = Holding::Replicated;
        result.sliced = -1;
        define(result, Expr(IndexReduction(op, all, e).blocks(vars[size_t(t->sliced)])));
    } else if (t->type.is_float() && t->kind != Holding::Partial && draw.chance(40)) {
        counts["norm2"]++;
        define(result, norm2(all, e));
    } else if (all.size() > 1 && op == Sum && draw.chance(30)) {
        counts["full reduction in blocks of another index"]++;
        define(result, Expr(sum_over(all, e).blocks(all.back())));
    } else {
        counts[std::string("full reduction ") + reduce_op_name(op)]++;
        define(result, over(op, all, e));
    }
    return true;
}

void ProgramGenerator::step() {
    bool done = false;
    while (!done) {
        int k = draw.below(100);
        done = k < 34 ? elementwise() : k < 42 ? linear()
                                    : k < 47   ? extremum_of_partial()
                                    : k < 60   ? reduce_over_ranks()
                                    : k < 74   ? copy()
                                    : k < 82   ? row_reduction()
                                    : k < 90   ? contraction()
                                               : full_reduction();
    }
}

}  // namespace stretto
