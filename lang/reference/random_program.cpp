#include "lang/reference/random_program.h"
#include "lang/error.h"
#include <algorithm>

namespace stretto {

namespace {

// A tensor that later definitions can read. Its dimensions are indices of the program, so that tensors fit together. What its
// layout is the generator works out by itself, from the language's table.
struct Known {
    Tensor tensor;
    Type type;
    std::vector<int> dims;  // indices, in the tensor's order
    AxisLayout::Kind kind;
    ReduceOp op = Sum;   // of Partial
    int sliced = -1;     // of Sliced: the index
    bool read = false;   // by another definition
    bool entry = false;  // an argument's value at entry
};

class Generator {
    Draw draw;
    const RandomProgramOptions &options;
    OperationCounts &counts;
    std::vector<Size> sizes;
    std::vector<Var> vars;
    std::vector<Extent> extents;
    std::vector<Known> known;
    std::vector<ArgumentRef> arguments;
    std::vector<InOut<Tensor>> in_outs;
    std::vector<size_t> in_out_known;
    Surroundings around;
    int made = 0;

    using Kind = AxisLayout::Kind;

    std::string fresh_name() {
        return "t" + std::to_string(made++);
    }

    Type random_type() {
        if (options.float32_only) return f32;
        return draw.chance(50) ? f32 : draw.pick<Type>({f64, f16, bf16, f16, bf16, i32, u8, i64, i8, u16, i16, u32, u64});
    }

    std::vector<int> random_dims() {
        std::vector<int> dims;
        for (int d = 0; d < int(vars.size()); d++)
            if (draw.chance(70)) dims.push_back(d);
        if (dims.empty()) dims.push_back(draw.below(int(vars.size())));
        return dims;
    }

    Layout layout_of(const Known &t) const {
        switch (t.kind) {
        case AxisLayout::Sliced: return sliced(int(std::find(t.dims.begin(), t.dims.end(), t.sliced) - t.dims.begin()));
        case AxisLayout::Partial: return partial(t.op);
        case AxisLayout::Local: return local;
        default: return replicated;
        }
    }

    std::vector<Extent> extents_of(const std::vector<int> &dims) const {
        std::vector<Extent> e;
        for (int d : dims) e.push_back(extents[size_t(d)]);
        return e;
    }

    // ---- arguments

    void add_argument(Kind kind, bool updated) {
        Known t{Tensor("unused"), random_type(), random_dims(), kind};
        if (kind == AxisLayout::Partial) t.op = draw.chance(70) ? Sum : draw.pick<ReduceOp>({Prod, ReduceOp::Max, ReduceOp::Min});
        if (kind == AxisLayout::Sliced) t.sliced = draw.pick(t.dims);
        t.entry = true;
        static const char *const names[] = {"input replicated", "input sliced", "input partial", "input local"};
        if (updated) {
            counts["inout"]++;
            InOut<Tensor> a{"s" + std::to_string(in_outs.size()), t.type, extents_of(t.dims), layout_of(t)};
            t.tensor = a;
            arguments.push_back(a);
            in_out_known.push_back(known.size());
            in_outs.push_back(a);
        } else {
            counts[names[kind]]++;
            Input<Tensor> a{"x" + std::to_string(known.size()), t.type, extents_of(t.dims), layout_of(t)};
            t.tensor = a;
            arguments.push_back(a);
        }
        counts["type " + type_name(t.type)]++;
        known.push_back(t);
    }

    void add_arguments() {
        int count = 1 + draw.below(options.dimensions);
        for (int d = 0; d < count; d++) {
            vars.emplace_back(std::string(1, char('i' + d)));
            if (draw.chance(85)) {
                sizes.emplace_back(std::string(1, char('a' + d)));
                extents.emplace_back(sizes.back());
            } else {
                extents.emplace_back(1 + draw.below(5));
            }
        }
        Input<double> rate{"rate"};
        Input<float> scale{"scale"};
        Input<int64_t> step{"step"};
        Input<uint64_t> seed{"seed"};
        for (ArgumentRef a : {ArgumentRef(rate), ArgumentRef(scale), ArgumentRef(step), ArgumentRef(seed)}) arguments.push_back(a);
        around.scalars = {rate, scale, step, Halide::cast<double>(ranks())};
        for (auto &s : sizes) around.scalars.push_back(s);
        around.seed = seed;
        for (auto kind : {AxisLayout::Replicated, AxisLayout::Sliced, AxisLayout::Partial, AxisLayout::Local}) add_argument(kind, false);
        for (int k = draw.below(3); k > 0; k--) add_argument(Kind(draw.below(4)), false);
        for (int k = 1 + draw.below(3); k > 0; k--) add_argument(draw.pick<Kind>({AxisLayout::Replicated, AxisLayout::Sliced, AxisLayout::Local}), true);
    }

    // ---- reading and defining

    Expr read(Known &t) {
        t.read = true;
        std::vector<Expr> at;
        for (int d : t.dims) at.push_back(vars[size_t(d)]);
        return TensorRef(t.tensor.definition(), at);
    }

    // A read of the elements in reverse along one dimension, if t allows that.
    Expr read_moved(Known &t) {
        std::vector<size_t> candidates;
        for (size_t k = 0; k < t.dims.size(); k++)
            if (t.dims[k] != t.sliced && !extents[size_t(t.dims[k])].size_name().empty()) candidates.push_back(k);
        if (!options.moved_reads || candidates.empty() || t.kind == AxisLayout::Partial) return Expr();
        size_t moved = draw.pick(candidates);
        counts["read at another element"]++;
        t.read = true;
        std::vector<Expr> at;
        for (size_t k = 0; k < t.dims.size(); k++) {
            Expr v = vars[size_t(t.dims[k])];
            at.push_back(k == moved ? Halide::cast<int>(size_value(extents[size_t(t.dims[k])].size_name())) - 1 - v : v);
        }
        return TensorRef(t.tensor.definition(), at);
    }

    // Defines a tensor like t, whose type is the value's.
    void define(Known t, const Expr &value) {
        t.type = value.type();
        t.tensor = Tensor(fresh_name());
        t.read = t.entry = false;
        std::vector<Expr> left;
        for (int d : t.dims) left.push_back(vars[size_t(d)]);
        TensorRef(t.tensor.definition(), left) = value;
        known.push_back(t);
    }
    void define(Known t, const Comm &c) {
        t.type = c.type;
        t.tensor = Tensor(fresh_name());
        t.read = t.entry = false;
        t.tensor = c;
        known.push_back(t);
    }

    // A tensor for which f holds, rather one that nothing reads yet; null if there is none.
    template<class F>
    Known *find(F f) {
        std::vector<Known *> all, unread;
        for (auto &t : known)
            if (f(t)) {
                all.push_back(&t);
                if (!t.read) unread.push_back(&t);
            }
        if (all.empty()) return nullptr;
        return draw.pick(!unread.empty() && draw.chance(70) ? unread : all);
    }

    // Can b stand beside tensors that make layout `a` so far?
    static bool joins(const Known &a, const Known &b) {
        if (a.kind == AxisLayout::Partial || b.kind == AxisLayout::Partial) return false;
        if (a.kind == AxisLayout::Replicated || b.kind == AxisLayout::Replicated) return true;
        return a.kind == b.kind && a.sliced == b.sliced;
    }

    std::vector<Expr> index_values(const std::vector<int> &dims) const {
        std::vector<Expr> v;
        for (int d : dims) v.push_back(vars[size_t(d)]);
        return v;
    }

    // The dimensions of both, in some order.
    std::vector<int> joined_dims(std::vector<int> a, const std::vector<int> &b) {
        for (int d : b)
            if (std::find(a.begin(), a.end(), d) == a.end()) a.push_back(d);
        if (a.size() > 1 && draw.chance(20)) {
            counts["transposed"]++;
            std::reverse(a.begin(), a.end());
        } else {
            std::sort(a.begin(), a.end());
        }
        return a;
    }

    // ---- steps. Each returns false if there is nothing that it could be done with.

    bool elementwise() {
        Known *first = find([](auto &t) { return t.kind != AxisLayout::Partial; });
        if (!first) return false;
        Known result = *first;
        std::vector<Expr> operands{read(*first)};
        for (int k = draw.below(3); k > 0; k--) {
            Known *t = find([&](auto &t) { return joins(result, t); });
            if (result.dims != t->dims) counts["broadcast of dimensions"]++;
            std::vector<int> dims = joined_dims(result.dims, t->dims);
            // Nothing but a bare index reaches a slice, and only of an index that has an extent from another read.
            bool known_extents = dims.size() == result.dims.size();
            Expr e = draw.chance(25) && known_extents ? read_moved(*t) : Expr();
            operands.push_back(e.defined() ? e : read(*t));
            if (result.kind == AxisLayout::Replicated) result.kind = t->kind, result.sliced = t->sliced;
            result.dims = dims;
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
                if (result.kind == AxisLayout::Replicated) result.kind = t->kind, result.sliced = t->sliced;
            }
        }
        Surroundings here = around;
        here.indices = index_values(result.dims);
        here.rank = result.kind == AxisLayout::Local && draw.chance(30);
        if (draw.chance(50)) here.seed = Expr();
        Type t = draw.chance(60) ? operands[0].type() : random_type();
        define(result, random_elementwise(draw, counts, t, operands, here, 1 + draw.below(options.chain)));
        counts["elementwise"]++;
        return true;
    }

    bool linear() {
        Known *first = find([](auto &t) { return t.kind == AxisLayout::Partial && t.op == Sum; });
        if (!first) return false;
        Known result = *first;
        std::vector<Expr> partials{read(*first)}, others;
        Known *second = find([&](auto &t) { return t.kind == AxisLayout::Partial && t.op == Sum && t.type == result.type && &t != first; });
        if (second) {
            partials.push_back(read(*second));
            result.dims = joined_dims(result.dims, second->dims);
        }
        for (int k = draw.below(2); k > 0; k--) {
            Known *t = find([](auto &t) { return t.kind == AxisLayout::Replicated; });
            others.push_back(read(*t));
            result.dims = joined_dims(result.dims, t->dims);
        }
        Surroundings here = around;
        if (draw.chance(50)) here.seed = Expr();
        define(result, random_linear(draw, counts, partials, others, here, 1 + draw.below(2)));
        counts["linear in a partial"]++;
        return true;
    }

    bool extremum_of_partial() {
        Known *first = find([](auto &t) { return t.kind == AxisLayout::Partial && t.op != Sum; });
        if (!first) return false;
        Known result = *first;
        Known *t = find([&](auto &t) {
            bool same = t.kind == AxisLayout::Partial && t.op == result.op;
            return t.type == result.type && (same || (result.op != Prod && t.kind == AxisLayout::Replicated));
        });
        Expr a = read(*first), b = read(*t);
        result.dims = joined_dims(result.dims, t->dims);
        counts[result.op == Prod ? "partial(Prod) multiplied" : "partial maximum"]++;
        define(result, result.op == Prod ? a * b : result.op == ReduceOp::Max ? max(a, b) : min(a, b));
        return true;
    }

    bool reduce_over_ranks() {
        Known *t = find([](auto &t) { return t.kind == AxisLayout::Partial; });
        return t && reduce_over_ranks(*t);
    }
    bool reduce_over_ranks(Known &operand) {
        Known t = operand;
        operand.read = true;
        Type type = is_float16(t.type) && draw.chance(40) ? f32 : t.type;
        t.kind = AxisLayout::Replicated;
        counts[std::string("reduction over ranks ") + reduce_op_name(t.op)]++;
        if (!t.dims.empty() && draw.chance(40)) {
            int d = draw.below(int(t.dims.size()));
            t.kind = AxisLayout::Sliced;
            t.sliced = t.dims[size_t(d)];
            counts["reduce_scatter"]++;
            define(t, type == t.type ? reduce_scatter(t.tensor, d) : reduce_scatter(t.tensor, d, type));
        } else {
            counts["all_reduce"]++;
            define(t, type == t.type ? all_reduce(t.tensor) : all_reduce(t.tensor, type));
        }
        return true;
    }

    bool copy() {
        Known *found = find([](auto &t) { return t.kind != AxisLayout::Partial && !t.dims.empty(); });
        if (!found) return false;
        found->read = true;
        Known t = *found;
        if (t.kind == AxisLayout::Sliced) {
            counts["all_gather"]++;
            t.kind = AxisLayout::Replicated;
            t.sliced = -1;
            define(t, all_gather(t.tensor));
        } else if (t.kind == AxisLayout::Local) {
            counts["broadcast"]++;
            t.kind = AxisLayout::Replicated;
            define(t, broadcast(t.tensor, 0));
        } else {
            int d = draw.below(int(t.dims.size()));
            counts["slice_of"]++;
            t.kind = AxisLayout::Sliced;
            t.sliced = t.dims[size_t(d)];
            define(t, slice_of(t.tensor, d));
        }
        return true;
    }

    // The layout of a reduction of e, which is like t, over index r.
    Known reduced(Known t, int r, ReduceOp op) {
        t.dims.erase(std::find(t.dims.begin(), t.dims.end(), r));
        if (t.sliced == r) {
            t.kind = AxisLayout::Partial;
            t.op = op;
            t.sliced = -1;
        }
        return t;
    }

    ReduceOp random_op(const Known &t) {
        if (t.kind == AxisLayout::Partial) return t.op;
        return draw.chance(60) ? Sum : draw.pick<ReduceOp>({Prod, ReduceOp::Max, ReduceOp::Min});
    }

    static Expr over(ReduceOp op, const std::vector<Var> &r, const Expr &e) {
        return op == Sum ? sum_over(r, e) : op == Prod ? prod_over(r, e) : op == ReduceOp::Max ? max_over(r, e) : min_over(r, e);
    }

    bool row_reduction() {
        Known *t = find([](auto &t) { return t.dims.size() > 1; });
        if (!t) return false;
        int r = draw.pick(t->dims);
        ReduceOp op = random_op(*t);
        Expr e = read(*t);
        counts[std::string("reduction of rows ") + reduce_op_name(op)]++;
        define(reduced(*t, r, op), over(op, {vars[size_t(r)]}, e));
        return true;
    }

    bool contraction() {
        Known *a = find([](auto &t) { return t.kind != AxisLayout::Partial; });
        if (!a) return false;
        Known *b = find([&](auto &t) { return joins(*a, t) && t.type == a->type; });
        if (!b) return false;
        Known t = *a;
        t.dims = joined_dims(a->dims, b->dims);
        if (t.dims.size() < 2) return false;
        if (t.kind == AxisLayout::Replicated) t.kind = b->kind, t.sliced = b->sliced;
        int r = draw.pick(t.dims);
        counts["contraction"]++;
        Expr e = read(*a) * read(*b);
        define(reduced(t, r, Sum), sum_over(vars[size_t(r)], e));
        return true;
    }

    // Over all indices: a 0-dimensional tensor.
    bool full_reduction() {
        Known *t = find([](auto &t) { return !t.dims.empty() && t.kind != AxisLayout::Sliced; });
        if (!t) return false;
        std::vector<Var> all;
        for (int d : t->dims) all.push_back(vars[size_t(d)]);
        ReduceOp op = random_op(*t);
        Expr e = read(*t);
        Known result = *t;
        result.dims.clear();
        if (t->type.is_float() && t->kind != AxisLayout::Partial && draw.chance(40)) {
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

    void step() {
        bool done = false;
        while (!done) {
            int k = draw.below(100);
            done = k < 34 ? elementwise() :
                   k < 42 ? linear() :
                   k < 47 ? extremum_of_partial() :
                   k < 60 ? reduce_over_ranks() :
                   k < 74 ? copy() :
                   k < 82 ? row_reduction() :
                   k < 90 ? contraction() :
                            full_reduction();
        }
    }

    // ---- results: nothing that was defined is left unread

    void finish() {
        for (size_t k = 0; k < known.size(); k++)
            if (known[k].kind == AxisLayout::Partial && !known[k].read) {
                Known t = known[k];
                reduce_over_ranks(t);
                known[k].read = true;
            }
        std::vector<bool> updated(in_outs.size());
        int outputs = 0;
        for (size_t k = 0; k < known.size(); k++) {
            Known t = known[k];
            if (t.read || t.entry) continue;
            bool used = false;
            for (size_t s = 0; s < in_outs.size() && !used; s++) {
                const Known &state = known[in_out_known[s]];
                bool into_local = state.kind == AxisLayout::Local && t.kind == AxisLayout::Replicated;
                bool fits = state.dims == t.dims && ((state.kind == t.kind && state.sliced == t.sliced) || into_local);
                if (updated[s] || !fits) continue;
                Tensor value(fresh_name());
                std::vector<Expr> at;
                for (int d : t.dims) at.push_back(vars[size_t(d)]);
                Surroundings here = around;
                TensorRef(value.definition(), at) = random_elementwise(draw, counts, state.type, {TensorRef(t.tensor.definition(), at)}, here, 1);
                update(in_outs[s], value);
                counts[into_local ? "update of a local by a replicated" : "update"]++;
                updated[s] = used = true;
            }
            if (used) continue;
            Output<Tensor> o{"y" + std::to_string(outputs++), t.type, extents_of(t.dims), layout_of(t)};
            std::vector<Expr> at;
            for (int d : t.dims) at.push_back(vars[size_t(d)]);
            Expr value = TensorRef(t.tensor.definition(), at);
            TensorRef(o.definition(), at) = draw.chance(50) ? value + value : value;
            arguments.push_back(o);
            counts["output"]++;
        }
        // An InOut that fits nothing takes a value made of its own, so that states of every layout are updated.
        for (size_t s = 0; s < in_outs.size(); s++) {
            if (updated[s]) continue;
            Known &state = known[in_out_known[s]];
            Surroundings here = around;
            here.indices = index_values(state.dims);
            Tensor value(fresh_name());
            std::vector<Expr> at;
            for (int d : state.dims) at.push_back(vars[size_t(d)]);
            TensorRef(value.definition(), at) = random_elementwise(draw, counts, state.type, {read(state)}, here, 2);
            update(in_outs[s], value);
            counts["update"]++;
        }
    }

public:
    Generator(uint64_t seed, const RandomProgramOptions &options, OperationCounts &counts)
        : draw(seed), options(options), counts(counts) {
    }

    Program operator()(const std::string &name) {
        add_arguments();
        for (int k = 0; k < options.steps; k++) step();
        finish();
        return Program(name, arguments);
    }
};

}  // namespace

RandomProgram random_program(uint64_t seed, const RandomProgramOptions &options) {
    OperationCounts counts;
    for (auto &operation : operation_names()) counts[operation] = 0;
    std::string name = "random_" + std::to_string(seed);
    try {
        Program p = Generator(seed, options, counts)(name);
        return {p, counts};
    } catch (const Error &e) {
        throw Error(name + " is refused: " + e.what());
    } catch (const Halide::Error &e) {
        throw Error(name + " is refused: " + e.what());
    }
}

std::map<std::string, int64_t> random_sizes(const Graph &g, int ranks, uint64_t seed) {
    Draw draw(seed);
    std::map<std::string, int64_t> sizes;
    for (auto &s : g.sizes) sizes[s] = draw.pick<int64_t>({0, 1, ranks - 1, ranks, ranks + 1, 7, 13, 21});
    return sizes;
}

}  // namespace stretto
