#include "lower/kernels.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"
#include "lang/order.h"
#include "lang/print.h"
#include "lower/contract.h"
#include "lower/emit.h"
#include "lower/kernel_body.h"
#include "lower/lanes.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Func;
using Halide::RDom;
using Halide::RVar;
using Halide::strict_float;
using Halide::TailStrategy;

plan::Type plan_type(const Type &t) {
    if (t.is_bool()) return plan::Type::Bool;
    if (t == f16) return plan::Type::Float16;
    if (t == bf16) return plan::Type::BFloat16;
    if (t == f32) return plan::Type::Float32;
    if (t == f64) return plan::Type::Float64;
    static const plan::Type ints[] = {plan::Type::Int8, plan::Type::Int16, plan::Type::Int32, plan::Type::Int64};
    static const plan::Type uints[] = {plan::Type::UInt8, plan::Type::UInt16, plan::Type::UInt32, plan::Type::UInt64};
    int log = t.bits() == 8 ? 0 : t.bits() == 16 ? 1
                              : t.bits() == 32   ? 2
                                                 : 3;
    return t.is_int() ? ints[log] : uints[log];
}

namespace {

// More outputs than that are not worth their compile time: ranks of one host are more than its cores soon.
constexpr int most_stored_to = 4;

// A core that computes in 64-byte registers now and then slows down for some microseconds: loops over no more elements than
// that compute in 32 bytes [a step of 4 KB on messages took 1.1 times as long otherwise, one rank alone too]. Not where they
// store to peers, as whole cache lines leave the store buffer in half the time [1.3 times as fast at 64 KB].
constexpr int few_elements = 1024, few_elements_bytes = 32;

// May the executor store it to every rank? Of an all-reduce, when that is carried in two phases.
bool to_all(const Stage &s, const StageStore &store) {
    return store.all || (s.collective && s.algorithm != Algorithm::OneShot);
}

class Builder {
    const Lowering &l;
    plan::PlanT &plan;
    const std::string &prefix;
    const Halide::Target &target;
    const std::vector<int> &direct_ranks;
    Kernels &kernels;

    // The range [lo, hi) of every loop of the stage, row-major: the first parameters of each of its kernels.
    struct Loops {
        std::vector<Expr> lo, hi;
        std::vector<Halide::Range> halide_order() const {
            std::vector<Halide::Range> r;
            for (size_t d = lo.size(); d-- > 0;) r.push_back(Halide::Range(lo[d], hi[d] - lo[d]));
            return r;
        }
    };
    static Loops loop_parameters(KernelArguments &list, size_t count) {
        Loops r;
        for (size_t d = 0; d < count; d++) {
            r.lo.push_back(add_scalar(list, Halide::Int(32), "lo" + std::to_string(d)));
            r.hi.push_back(add_scalar(list, Halide::Int(32), "hi" + std::to_string(d)));
        }
        return r;
    }

    std::string next_name() const {
        return prefix + "_k" + std::to_string(kernels.modules.size());
    }
    bool by_lanes(const Stage &s) const {
        bool reduces = s.kind == plan::StageKind::Contract || s.kind == plan::StageKind::BlockSum;
        return reduces && order_of(l.graph.at(s.nodes[0])) == Order::Lanes;
    }
    // The executor has checked every argument, so a kernel's own checks say nothing new but where it reads at computed indices.
    // They take longer than the sums of a small sweep.
    bool needs_checks(const Stage &s) const {
        if (s.kind == plan::StageKind::Contract && !by_lanes(s)) return true;  // allocates
        bool computed = false;
        for (NodeId id : s.nodes)
            for_each_access(l.graph.at(id).value, [&](const Call *c) {
                for (auto &i : indices_of(c)) computed |= bare_index(i).empty();
            });
        return computed;
    }
    std::unique_ptr<plan::KernelT> finish(const Stage &s, const KernelBody &body, const KernelArguments &list) {
        auto k = std::make_unique<plan::KernelT>();
        k->id = int(kernels.modules.size());
        k->scalars = body.scalars;
        k->loads = body.loads();
        std::string name = next_name();
        try {
            const bool checked = needs_checks(s), far = !checked || by_lanes(s);  // else a check says what is too far
            kernels.modules.push_back(compile_kernels({body.out}, list, name, target, checked, far));
        } catch (const Error &e) {
            if (is_unbounded_read(e)) refuse_unbounded_index(s);
            throw;
        }
        kernels.names.push_back(name);
        return k;
    }
    // Names the first read of the stage at an index that is itself read from a tensor; returns if there is none.
    void refuse_unbounded_index(const Stage &s) const {
        const Graph &g = l.graph;
        for (NodeId id : s.nodes)
            for_each_access(g.at(id).source, [&](const Call *c) {
                const Node &t = g.at(accessed(c));
                auto idx = indices_of(c);
                for (size_t d = 0; d < idx.size(); d++)
                    if (!nodes_read(idx[d]).empty())
                        throw Error("In program " + g.program + ": " + g.at(id).name + " reads " + to_string(g, Expr(c)) +
                                    ".\n  The index " + to_string(g, idx[d]) + " is known only when the program runs, " +
                                    "and may be outside of " +
                                    t.name + ".\nLegal: clamp(" + to_string(g, idx[d]) + ", 0, cast<int32_t>(" +
                                    to_string(g, t.domain[d].extent) + ") - 1) in its place");
            });
    }

    int lanes(const Stage &s, const Type &t) const {
        return s.vectorize > 0 ? s.vectorize : target.natural_vector_size(t);
    }
    // The innermost of the loops.
    void vectorize(Func f, const Stage &s, const RDom &r, const Loops &loops, bool to_peers, int width) const {
        auto split = [&](Halide::Stage stage, int lanes) {
            if (lanes <= 1) return;
            RVar outer("outer"), inner("inner");
            stage.split(r[0], outer, inner, lanes, TailStrategy::GuardWithIf).vectorize(inner);
        };
        Expr elements = Halide::cast<int64_t>(1);
        for (size_t d = 0; d < loops.lo.size(); d++) elements *= Halide::cast<int64_t>(loops.hi[d] - loops.lo[d]);
        int few = width * few_elements_bytes / std::max(1, target.natural_vector_size(Halide::UInt(8)));
        if (s.vectorize == 0 && !to_peers && few < width) split(f.update().specialize(elements <= few_elements), few);
        split(f.update(), width);
    }
    static std::vector<Var> pure_vars(size_t count) {
        std::vector<Var> v;
        for (size_t d = 0; d < count; d++) v.push_back(Var("x" + std::to_string(d)));
        return v;
    }
    static std::vector<Expr> reversed_indices(const RDom &r, size_t count) {
        std::vector<Expr> v;
        for (size_t d = 0; d < count; d++) v.push_back(r[int(count - 1 - d)]);
        return v;
    }
    static std::vector<Expr> halide_indices(const RDom &r, size_t count) {
        std::vector<Expr> v;
        for (size_t d = 0; d < count; d++) v.push_back(r[int(d)]);
        return v;
    }

    // One loop over [lo, hi) that computes every node of the stage at one element and stores those that have a buffer: to own
    // buffers, and with `peers` to those of as many other ranks where the store is to all.
    std::unique_ptr<plan::KernelT> sweep(const Stage &s, const AddendSource &addends, int peers = 0) {
        KernelArguments list;
        size_t D = s.loops.size();
        Loops loops = loop_parameters(list, D);
        KernelBody body(l, s, addends, Func(next_name()));
        std::vector<StageStore> stores = s.stores;
        for (auto &store : s.stores)
            if (to_all(s, store)) stores.insert(stores.end(), size_t(peers), store);
        body.outputs = stores.size();
        RDom r = D ? RDom(loops.halide_order(), "r") : RDom();
        body.here = D ? reversed_indices(r, D) : std::vector<Expr>{};
        auto define = [](Halide::FuncRef ref, const std::vector<Expr> &v) {
            if (v.size() == 1)
                ref = v[0];
            else
                ref = Halide::Tuple(v);
        };
        std::vector<Expr> values, start;
        bool in_place = false;
        for (auto &store : stores) {
            start.push_back(Halide::undef(l.graph.at(store.node).type));
            in_place |= store.in_place;
        }
        // Before the values, which may read it.
        if (D)
            define(body.out(pure_vars(D)), start);
        else if (in_place)
            define(body.out(), start);
        for (auto &store : stores) values.push_back(body.value(store.node));
        for (auto &v : values) v = body.finish(v);
        values = visible(values, body.elements_read());
        define(D ? body.out(halide_indices(r, D)) : body.out(), values);
        if (D) {
            int width = 0;  // of the narrowest float: the others take two vectors
            for (auto &store : s.stores) {
                Type t = accumulator_type(l.graph.at(store.node).type);
                width = std::max(width, lanes(s, t.bits() < 32 ? Halide::Int(32) : t));
            }
            // Halide 21 compiles such tuples with predicated loads to a let that is read outside of itself. Without vectors of
            // its own the loop is left to LLVM.
            const bool tuple_in_place = stores.size() > 1 && in_place;
            if (!tuple_in_place || !widens_to_64_bits(values)) vectorize(body.out, s, r, loops, peers > 0, width);
        }
        body.append_arguments(list);
        return finish(s, body, list);
    }
    static bool widens_to_64_bits(const std::vector<Expr> &values) {
        struct Widening : Halide::Internal::IRVisitor {
            using IRVisitor::visit;
            bool found = false;
            void visit(const Halide::Internal::Cast *x) override {
                found |= x->type.bits() == 64 && x->value.type().bits() < 64;
                IRVisitor::visit(x);
            }
        } w;
        for (auto &v : values) v.accept(&w);
        return w.found;
    }

    // chunk = first ? addend : chunk op addend, for the rank in turn.
    std::unique_ptr<plan::PeerSumT> peer_sum(const Stage &s, const Node &n) {
        KernelArguments list;
        size_t D = s.loops.size();
        Loops loops = loop_parameters(list, D);
        Expr first = add_scalar(list, Halide::Int(32), "first");
        KernelBody body(l, s, {AddendSource::OneRank, 1}, Func(next_name()));
        RDom r = D ? RDom(loops.halide_order(), "r") : RDom();
        body.here = D ? reversed_indices(r, D) : std::vector<Expr>{};
        Type t = n.accumulator;
        Expr x = body.addend(n, 0);
        auto so_far = D ? body.out(halide_indices(r, D)) : body.out();
        Expr sum;
        if (D)
            body.out(pure_vars(D)) = Halide::undef(t);
        else
            body.out() = Halide::undef(t);
        sum = strict_float(select(first != 0, x, combine(n.reduce_op(), so_far, x)));
        so_far = sum;
        if (D) vectorize(body.out, s, r, loops, false, lanes(s, t.bits() < 32 ? Halide::Int(32) : t));
        body.append_arguments(list);
        auto p = std::make_unique<plan::PeerSumT>();
        p->type = plan_type(t);
        p->kernel = finish(s, body, list);
        return p;
    }

    // The blocks' results in order, beginning with block 0's.
    std::unique_ptr<plan::KernelT> fold(const Stage &s) {
        const Node &n = l.graph.at(s.nodes[0]);
        KernelArguments list;
        std::string name = next_name();
        KernelBody body(l, s, {}, Func(name));
        Type t = n.accumulator;
        int ranks = 0;
        while (!equal(l.graph.scalars[ranks], ranks_value())) ranks++;
        RDom r(1, body.scalar(ranks) - 1, "r");
        Func acc(name + "_acc");
        acc() = cast(t, body.expression(n, {Expr(0)}));
        acc() = strict_float(combine(n.reduce_op(), acc(), cast(t, body.expression(n, {r.x}))));
        acc.compute_root().update().unscheduled();
        body.out() = round_to(n.type, acc());
        body.append_arguments(list);
        return finish(s, body, list);
    }

    // Over indices: of the whole of them, or of a block.
    std::unique_ptr<plan::KernelT> reduction(const Stage &s) {
        const Node &n = l.graph.at(s.nodes[0]);
        KernelArguments list;
        Loops loops = loop_parameters(list, s.loops.size());
        KernelBody body(l, s, {}, Func(next_name()));
        auto define = by_lanes(s) ? define_lanes : define_contraction;
        define(n, body, loops.lo, loops.hi, target, s.vectorize);
        body.append_arguments(list);
        return finish(s, body, list);
    }

public:
    Builder(const Lowering &l, plan::PlanT &plan, const std::string &prefix, const Halide::Target &target,
            const std::vector<int> &direct_ranks, Kernels &kernels)
        : l(l), plan(plan), prefix(prefix), target(target), direct_ranks(direct_ranks), kernels(kernels) {
    }

    void stage(const Stage &s, plan::StageT &p) {
        switch (s.kind) {
        case plan::StageKind::BlockSum:
        case plan::StageKind::Contract: p.kernel = reduction(s); return;
        case plan::StageKind::Fold: p.kernel = fold(s); return;
        case plan::StageKind::Sweep: break;
        }
        bool sums = false;
        for (NodeId id : s.nodes) sums |= l.graph.at(id).reduces_over_ranks();
        if (!sums) {
            p.kernel = sweep(s, {});
            return;
        }
        for (NodeId id : s.nodes)
            if (l.graph.at(id).reduces_over_ranks()) p.sums.push_back(peer_sum(s, l.graph.at(id)));
        p.kernel = sweep(s, {AddendSource::Chunks, 0});
        for (int ranks : direct_ranks) {
            auto d = std::make_unique<plan::DirectT>();
            d->ranks = ranks;
            d->kernel = sweep(s, {AddendSource::Direct, ranks});
            bool all = false;
            for (auto &store : s.stores) all |= to_all(s, store);
            if (all && ranks > 1 && ranks <= most_stored_to && !s.loops.empty())
                d->to_peers = sweep(s, {AddendSource::Direct, ranks}, ranks - 1);
            p.direct.push_back(std::move(d));
        }
    }

    // All plan scalars in one kernel with 0-d outputs. Arguments: every scalar argument, every size, ranks, rank.
    void scalar_kernel() {
        const Graph &g = l.graph;
        std::vector<Expr> values = g.scalars;
        for (auto &r : g.requirements) {
            auto require = std::make_unique<plan::RequireT>();
            require->scalar = int(values.size());
            require->text = r.text;
            for (size_t i = 0; i < g.arguments.size(); i++)
                if (g.arguments[i].scalar) {
                    Expr v = scalar_argument(g.arguments[i].type, g.arguments[i].name);
                    if (expr_uses_var(r.condition, v.as<Variable>()->name)) require->arguments.push_back(int(i));
                }
            plan.requires_.push_back(std::move(require));
            values.push_back(r.condition);
        }
        for (size_t k = 0; k < values.size(); k++) {
            auto scalar = std::make_unique<plan::ScalarT>();
            scalar->name = "plan_scalar_" + std::to_string(k);
            scalar->type = plan_type(values[k].type());
            plan.scalars.push_back(std::move(scalar));
        }
        if (values.empty()) return;
        KernelArguments list;
        std::map<std::string, Expr> parameters;
        auto parameter = [&](const Expr &symbol, const std::string &name) {
            parameters[symbol.as<Variable>()->name] = add_scalar(list, symbol.type(), name);
        };
        for (auto &a : g.arguments)
            if (a.scalar) parameter(scalar_argument(a.type, a.name), "argument_" + a.name);
        for (auto &size : size_parameters(g)) add_scalar(list, Halide::Int(64), "parameter_" + size);
        for (auto &s : g.sizes) parameter(size_value(s), "size_" + s);
        parameter(ranks_value(), "ranks");
        parameter(rank_value(), "rank");
        std::vector<Func> outs;
        for (size_t k = 0; k < values.size(); k++) {
            Func f(next_name() + "_" + std::to_string(k));
            f() = strict_float(Halide::Internal::substitute(parameters, values[k]));
            outs.push_back(f);
        }
        std::string name = next_name();
        kernels.scalar_kernel = int(kernels.modules.size());
        kernels.modules.push_back(compile_kernels(outs, list, name, target, false));
        kernels.names.push_back(name);
    }
};

}  // namespace

Kernels build_kernels(const Lowering &l, plan::PlanT &plan, const std::string &prefix, const Halide::Target &target,
                      const std::vector<int> &direct_ranks) {
    Kernels kernels;
    Builder b(l, plan, prefix, target, direct_ranks, kernels);
    for (size_t i = 0; i < l.stages.size(); i++) b.stage(l.stages[i], *plan.stages[i]);
    b.scalar_kernel();
    plan.scalar_kernel = kernels.scalar_kernel;
    plan.kernels = int(kernels.modules.size());
    return kernels;
}

}  // namespace stretto
