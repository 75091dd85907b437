// The builder of random programs. Its steps are in random_steps.cpp, the rest in random_program.cpp.
#pragma once
#include <algorithm>
#include "tests/random/random_program.h"

namespace stretto {

// A tensor that later definitions can read. Its dimensions are indices of the program, so that
// tensors fit together. What its layout is the generator works out by itself, from the language's
// table.
// How ranks hold a tensor of the program.
struct Holding {
    enum Kind { Replicated,
                Sliced,
                Partial,
                Local };
};

struct Known {
    Tensor tensor;
    Type type;
    std::vector<int> dims;  // indices, in the tensor's order
    Holding::Kind kind;
    ReduceOp op = Sum;   // of Partial
    int sliced = -1;     // of Sliced: the index
    bool read = false;   // by another definition
    bool entry = false;  // an argument's value at entry
};

// Builds one program: arguments, then steps, then results.
class ProgramGenerator {
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

    using Kind = Holding::Kind;

    std::string fresh_name() {
        return "t" + std::to_string(made++);
    }

    Type random_type() {
        if (options.float32_only) return f32;
        return draw.chance(50)
                   ? f32
                   : draw.pick<Type>({f64, f16, bf16, f16, bf16, i32, u8, i64, i8, u16, i16, u32, u64});
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
        case Holding::Sliced:
            return sliced(int(std::find(t.dims.begin(), t.dims.end(), t.sliced) - t.dims.begin()));
        case Holding::Partial: return partial(t.op);
        case Holding::Local: return local;
        default: return replicated;
        }
    }

    std::vector<Extent> extents_of(const std::vector<int> &dims) const {
        std::vector<Extent> e;
        for (int d : dims) e.push_back(extents[size_t(d)]);
        return e;
    }

    void add_argument(Kind kind, bool updated);
    void add_arguments();

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
            if (t.dims[k] != t.sliced && !extents[size_t(t.dims[k])].size_name().empty())
                candidates.push_back(k);
        if (!options.moved_reads || candidates.empty() || t.kind == Holding::Partial) return Expr();
        size_t moved = draw.pick(candidates);
        counts["read at another element"]++;
        t.read = true;
        std::vector<Expr> at;
        for (size_t k = 0; k < t.dims.size(); k++) {
            Expr v = vars[size_t(t.dims[k])];
            at.push_back(k == moved
                             ? Halide::cast<int>(size_value(extents[size_t(t.dims[k])].size_name())) -
                                   1 - v
                             : v);
        }
        return TensorRef(t.tensor.definition(), at);
    }

    // A read at an index along one dimension that another tensor, which joins `result`, says.
    Expr look_up(Known &t, Known &result) {
        std::vector<size_t> candidates;
        for (size_t k = 0; k < t.dims.size(); k++)
            if (!extents[size_t(t.dims[k])].size_name().empty()) candidates.push_back(k);
        if (!options.moved_reads || candidates.empty() || t.kind != Holding::Replicated) return Expr();
        auto within = [&](const Known &x) {
            return std::all_of(x.dims.begin(), x.dims.end(), [&](int d) {
                return std::find(result.dims.begin(), result.dims.end(), d) != result.dims.end();
            });
        };
        Known *where = find([&](auto &x) { return joins(result, x) && within(x); });
        if (!where || !within(t)) return Expr();
        size_t looked_up = draw.pick(candidates);
        counts["read at an index from another tensor"]++;
        if (result.kind == Holding::Replicated) result.kind = where->kind, result.sliced = where->sliced;
        Expr last = Halide::cast<int>(size_value(extents[size_t(t.dims[looked_up])].size_name())) - 1;
        Expr index = clamp(some_integer(i32, read(*where)), 0, last);
        t.read = true;
        std::vector<Expr> at;
        for (size_t k = 0; k < t.dims.size(); k++) at.push_back(k == looked_up ? index : Expr(vars[size_t(t.dims[k])]));
        return TensorRef(t.tensor.definition(), at);
    }

    // A reduction inside the definition of `result`: of all of t, or of one dimension of it that result has not.
    Expr inner_reduction(const Known &result);

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
    template <class F>
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
        if (a.kind == Holding::Partial || b.kind == Holding::Partial) return false;
        if (a.kind == Holding::Replicated || b.kind == Holding::Replicated) return true;
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

    bool elementwise();
    bool linear();
    bool extremum_of_partial();
    bool reduce_over_ranks();
    bool reduce_over_ranks(Known &operand);
    bool copy();
    ReduceOp random_op(const Known &);
    bool row_reduction();
    bool contraction();
    bool full_reduction();
    void step();

    // Nothing that was defined is left unread.
    void finish();

public:
    ProgramGenerator(uint64_t seed, const RandomProgramOptions &options, OperationCounts &counts)
        : draw(seed), options(options), counts(counts) {
    }

    std::vector<ArgumentRef> operator()();
};

}  // namespace stretto
