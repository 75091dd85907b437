#include "lower/kernels.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"
#include "lang/print.h"
#include "lower/emit.h"
#include "lower/kernel_body.h"
#include "lower/reductions.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Func;
using Halide::RDom;
using Halide::RVar;
using Halide::strict_float;
using Halide::TailStrategy;

namespace {

// More outputs than that are not worth their compile time: ranks of one host are more than its cores soon.
constexpr int most_stored_to = 4;

// A core that computes in 64-byte registers now and then slows down for some microseconds: loops over no more elements than
// that compute in 32 bytes [a step of 4 KB on messages took 1.1 times as long otherwise, one rank alone too]. Not where they
// store to peers, as whole cache lines leave the store buffer in half the time [1.3 times as fast at 64 KB].
constexpr int few_elements = 1024, few_elements_bytes = 32;

class Builder {
    const Lowering &l;
    const std::string &prefix;
    const Halide::Target &target;
    const std::vector<int> &direct_ranks;
    Kernels &kernels;

    std::string next_name() const {
        return prefix + "_k" + std::to_string(kernels.modules.size());
    }
    // The executor has checked every argument, so a kernel's own checks say nothing new but where it reads at computed indices.
    // They take longer than the sums of a small sweep.
    static bool needs_checks(const Stage &s) {
        if (s.kind == plan::StageKind::Contract && s.order != Order::Lanes) return true;  // allocates
        for (auto &a : s.accesses)
            for (int loop : a.reach)
                if (loop == any_element) return true;
        return false;
    }
    // so_far: an argument after the operands, if it is defined.
    std::unique_ptr<plan::KernelT> finish(KernelBody &body, const Halide::Parameter &so_far = {}) {
        const Stage &s = body.stage;
        auto k = body.add_operands();
        if (so_far.defined()) body.arguments.push_back(so_far);
        k->id = int(kernels.modules.size());
        try {
            // Else a check says what is too far.
            const bool checked = needs_checks(s), far = !checked || s.order == Order::Lanes;
            kernels.modules.push_back(compile_kernels({body.out}, body.arguments, next_name(), target, checked, far));
        } catch (const Error &e) {
            if (is_unbounded_read(e)) refuse_unbounded_index(s);
            throw;
        }
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

    // The innermost of the loops.
    void vectorize(KernelBody &body, const RDom &r, bool to_peers, int width) const {
        auto split = [&](Halide::Stage stage, int lanes) {
            if (lanes <= 1) return;
            RVar outer("outer"), inner("inner");
            stage.split(r[0], outer, inner, lanes, TailStrategy::GuardWithIf).vectorize(inner);
        };
        Expr elements = cast<int64_t>(1);
        for (size_t d = 0; d < body.lo.size(); d++) elements *= cast<int64_t>(body.hi[d] - body.lo[d]);
        int few = width * few_elements_bytes / std::max(1, target.natural_vector_size(Halide::UInt(8)));
        if (body.stage.vectorize == 0 && !to_peers && few < width)
            split(body.out.update().specialize(elements <= few_elements), few);
        split(body.out.update(), width);
    }

    const StageAccess &accessed_by(const Stage &s, const Stored &store) const { return s.accesses[size_t(store.access)]; }
    Type type_of(const Stage &s, const Stored &store) const { return l.buffers[size_t(accessed_by(s, store).buffer)].type; }

    static bool stores_to_all(const StageAccess &a) { return a.written >= 0 && a.from == plan::From::Each; }

    // One loop over [lo, hi) that computes every node of the stage at one element and stores those that have a buffer: to own
    // buffers, and with `peers` to those of as many other ranks where the store is to all.
    std::unique_ptr<plan::KernelT> sweep(const Stage &s, const AddendSource &addends, int peers = 0) {
        KernelBody body(l, s, addends, next_name());
        std::vector<Stored> stores = s.body.stored;
        for (auto &store : s.body.stored)
            if (stores_to_all(accessed_by(s, store))) stores.insert(stores.end(), size_t(peers), store);
        body.outputs = stores.size();
        RDom r = element_loop(body);
        std::vector<Expr> values, start;
        int width = 0;  // of the narrowest float: the others take two vectors
        bool in_place = false;
        for (auto &store : stores) {
            const Type t = type_of(s, store);
            start.push_back(Halide::undef(t));
            width = std::max(width, vector_width(s, target, accumulator_type(t)));
            in_place |= accessed_by(s, store).how() == plan::How::Update;
        }
        body.out(reversed(body.vars)) = Halide::Tuple(start);  // before the values, which may read it
        for (auto &store : stores) values.push_back(body.value(store.binding));
        for (auto &v : values) v = body.finish(v);
        values = visible(values, body.elements_read());
        body.out(reversed(body.here)) = Halide::Tuple(values);
        // Halide 21 compiles such tuples with predicated loads to a let that is read outside of itself. Without vectors of
        // its own the loop is left to LLVM.
        const bool tuple_in_place = stores.size() > 1 && in_place;
        if (!body.here.empty() && (!tuple_in_place || !widens_to_64_bits(values))) vectorize(body, r, peers > 0, width);
        return finish(body);
    }
    // The loop over elements; the body's `here` is in it.
    static RDom element_loop(KernelBody &body) {
        RDom r = body.domain(0);
        for (size_t d = body.lo.size(); d-- > 0;) body.here.push_back(r[int(d)]);
        return r;
    }
    static bool widens_to_64_bits(const std::vector<Expr> &values) {
        struct Widening : IRVisitor {
            using IRVisitor::visit;
            bool found = false;
            void visit(const Cast *x) override {
                found |= x->type.bits() == 64 && x->value.type().bits() < 64;
                IRVisitor::visit(x);
            }
        } w;
        for (auto &v : values) v.accept(&w);
        return w.found;
    }

    // chunk = first ? addend : chunk op addend, for the rank in turn.
    std::unique_ptr<plan::PeerSumT> peer_sum(const Stage &s, const Binding &b) {
        KernelBody body(l, s, {AddendSource::OneRank, 1}, next_name());
        Expr first = add_scalar(body.arguments, Halide::Int(32), "first");
        RDom r = element_loop(body);
        const Type t = b.value.type();
        Expr x = body.expression(b.value, body.here);
        body.out(reversed(body.vars)) = Halide::undef(t);
        auto so_far = body.out(reversed(body.here));
        so_far = body.finish(select(first != 0, x, combine(b.op, so_far, x)));
        if (!body.here.empty()) vectorize(body, r, false, vector_width(s, target, t));
        auto p = std::make_unique<plan::PeerSumT>();
        p->type = plan_type(t);
        p->kernel = finish(body);
        return p;
    }

    // The blocks' results in order, beginning with block 0's.
    std::unique_ptr<plan::KernelT> fold(const Stage &s) {
        const Binding &b = s.body.bindings[0];
        KernelBody body(l, s, {}, next_name());
        RDom r(body.lo[0] + 1, body.hi[0] - body.lo[0] - 1, "r");
        Func acc(body.out.name() + "_acc");
        acc() = body.expression(b.value, {body.lo[0]});
        acc() = strict_float(combine(b.op, acc(), body.expression(b.value, {r.x})));
        acc.compute_root().update().unscheduled();
        body.out() = body.result(acc());
        return finish(body);
    }

    // Over indices: of the whole of them, or of a block. What rides goes on with what it has stored so far.
    std::unique_ptr<plan::KernelT> reduction(const Stage &s) {
        KernelBody body(l, s, {}, next_name());
        const Binding &b = s.body.bindings[0];
        const Type t = b.value.type();
        Expr start = identity_of(b.op, t);
        Halide::Parameter so_far;
        if (s.rides) {
            so_far = Halide::Parameter(t, true, 1, "so_far");
            Expr first = add_scalar(body.arguments, Halide::Int(32), "first");
            start = select(first != 0, start, Call::make(so_far, {body.vars[0]}));
        }
        if (s.order == Order::Lanes) define_lanes(body, target, start);
        else define_contraction(body, target);
        return finish(body, so_far);
    }

    std::unique_ptr<plan::StageKernelsT> build(const Stage &s) {
        auto p = std::make_unique<plan::StageKernelsT>();
        switch (s.kind) {
        case plan::StageKind::BlockSum:
        case plan::StageKind::Contract: p->kernel = reduction(s); return p;
        case plan::StageKind::Fold: p->kernel = fold(s); return p;
        case plan::StageKind::Sweep: break;
        }
        for (auto &b : s.body.bindings)
            if (b.over == Binding::Ranks) p->sums.push_back(peer_sum(s, b));
        p->kernel = sweep(s, {AddendSource::Chunks, 0});
        if (p->sums.empty()) return p;
        for (int ranks : direct_ranks) {
            auto d = std::make_unique<plan::DirectT>();
            d->ranks = ranks;
            d->kernel = sweep(s, {AddendSource::Direct, ranks});
            p->direct.push_back(std::move(d));
        }
        return p;
    }

    // The same with more stores, for the direct kernels of a stage that stores to every rank.
    void add_to_peers(const Stage &s, plan::StageKernelsT &p) {
        const bool all = std::any_of(s.accesses.begin(), s.accesses.end(), stores_to_all);
        for (auto &d : p.direct)
            if (all && d->ranks > 1 && d->ranks <= most_stored_to && !s.loops.empty())
                d->to_peers = sweep(s, {AddendSource::Direct, d->ranks}, d->ranks - 1);
    }

    // What was made already of a body, and of that with stores to the same ranks.
    struct Made {
        const Stage *stage;
        std::unique_ptr<plan::StageKernelsT> kernels;
        std::map<std::vector<plan::From>, std::unique_ptr<plan::StageKernelsT>> by_stores;
    };
    std::vector<Made> made;

    static std::vector<plan::From> stores_to(const Stage &s) {
        std::vector<plan::From> v;
        for (auto &a : s.accesses)
            if (a.written >= 0) v.push_back(a.from);
        return v;
    }

public:
    Builder(const Lowering &l, const std::string &prefix, const Halide::Target &target,
            const std::vector<int> &direct_ranks, Kernels &kernels)
        : l(l), prefix(prefix), target(target), direct_ranks(direct_ranks), kernels(kernels) {}

    std::unique_ptr<plan::StageKernelsT> stage(const Stage &s) {
        auto known = std::find_if(made.begin(), made.end(), [&](auto &m) { return equal_bodies(l, *m.stage, s); });
        if (known == made.end()) known = made.insert(made.end(), Made{&s, build(s), {}});
        auto &whole = known->by_stores[stores_to(s)];
        if (!whole) {
            whole = std::make_unique<plan::StageKernelsT>(*known->kernels);
            add_to_peers(s, *whole);
        }
        auto p = std::make_unique<plan::StageKernelsT>(*whole);
        auto of_graph = [&](plan::KernelT &k) {
            for (int &i : k.scalars) i = s.body.scalars[size_t(i)];
        };
        of_graph(*p->kernel);
        for (auto &sum : p->sums) of_graph(*sum->kernel);
        for (auto &d : p->direct) {
            of_graph(*d->kernel);
            if (d->to_peers) of_graph(*d->to_peers);
        }
        return p;
    }

    // All plan scalars, then the requirements, in one kernel with 0-d outputs. Arguments: every scalar argument, every size,
    // ranks, rank. -1 if there are none.
    int scalar_kernel() {
        const Graph &g = l.graph;
        std::vector<Expr> values;
        for (auto &e : g.scalars) values.push_back(expand_functions(e));
        for (auto &r : g.requirements) values.push_back(expand_functions(r.condition));
        if (values.empty()) return -1;
        KernelArguments arguments;
        std::map<std::string, Expr> parameters;
        auto parameter = [&](const Expr &symbol, const std::string &name) {
            parameters[symbol.as<Variable>()->name] = add_scalar(arguments, symbol.type(), name);
        };
        for (auto &a : g.arguments)
            if (a.scalar) parameter(scalar_argument(a.type, a.name), "argument_" + a.name);
        for (auto &size : size_parameters(g)) add_scalar(arguments, Halide::Int(64), "parameter_" + size);
        for (auto &s : g.sizes) parameter(size_value(s), "size_" + s);
        parameter(ranks_value(), "ranks");
        parameter(rank_value(), "rank");
        std::vector<Func> outs;
        for (size_t k = 0; k < values.size(); k++) {
            Func f(next_name() + "_" + std::to_string(k));
            // Shared parts get names, or it would be walked as a tree.
            Expr value = common_subexpression_elimination(values[k]);
            f() = strict_float(substitute(parameters, value));
            outs.push_back(f);
        }
        kernels.modules.push_back(compile_kernels(outs, arguments, next_name(), target, false));
        return int(kernels.modules.size()) - 1;
    }
};

}  // namespace

bool equal_bodies(const Lowering &l, const Stage &a, const Stage &b) {
    auto same_access = [&](const StageAccess &x, const StageAccess &y) {
        const Buffer &p = l.buffers[size_t(x.buffer)], &q = l.buffers[size_t(y.buffer)];
        const bool stores = x.written >= 0;  // to whom makes a difference only where the kernel does it
        return x.how() == y.how() && (stores || x.from == y.from) && x.reach == y.reach && p.type == q.type &&
               p.dims.size() == q.dims.size();
    };
    auto same_binding = [](const Binding &x, const Binding &y) {
        return x.over == y.over && x.op == y.op && x.value.type() == y.value.type() && graph_equal(x.value, y.value);
    };
    auto same_store = [](const Stored &x, const Stored &y) { return x.binding == y.binding && x.access == y.access; };
    auto same_scalar = [&](int x, int y) {
        const Expr &p = l.graph.scalars[size_t(x)], &q = l.graph.scalars[size_t(y)];
        return p.type() == q.type() && is_ranks(p) == is_ranks(q);
    };
    auto all = [](auto &x, auto &y, auto &same) { return std::equal(x.begin(), x.end(), y.begin(), y.end(), same); };
    return a.kind == b.kind && a.order == b.order && a.rides == b.rides && a.vectorize == b.vectorize &&
           a.outputs == b.outputs && a.loops.size() == b.loops.size() && all(a.accesses, b.accesses, same_access) &&
           all(a.body.scalars, b.body.scalars, same_scalar) && all(a.body.stored, b.body.stored, same_store) &&
           all(a.body.bindings, b.body.bindings, same_binding);
}

Kernels build_kernels(const Lowering &l, const std::string &prefix, const Halide::Target &target,
                      const std::vector<int> &direct_ranks) {
    Kernels kernels;
    kernels.section = std::make_unique<plan::CpuT>();
    Builder b(l, prefix, target, direct_ranks, kernels);
    for_each_stage(l.items, [&](const Stage &s) { kernels.section->stages.push_back(b.stage(s)); });
    kernels.section->target = target.to_string();
    kernels.section->scalar_kernel = b.scalar_kernel();
    kernels.section->kernels = int(kernels.modules.size());
    return kernels;
}

}  // namespace stretto
