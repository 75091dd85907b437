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

namespace {

// More outputs than that are not worth their compile time: ranks of one host are more than its cores soon.
constexpr int most_stored_to = 4;

// A core that computes in 64-byte registers now and then slows down for some microseconds: loops over no more elements than
// that compute in 32 bytes [a step of 4 KB on messages took 1.1 times as long otherwise, one rank alone too]. Not where they
// store to peers, as whole cache lines leave the store buffer in half the time [1.3 times as fast at 64 KB].
constexpr int few_elements = 1024, few_elements_bytes = 32;

// Bindings that reduce over ranks, in order.
std::vector<int> rank_sums(const Stage &s) {
    std::vector<int> v;
    for (size_t b = 0; b < s.body.bindings.size(); b++)
        if (s.body.bindings[b].over == Binding::Ranks) v.push_back(int(b));
    return v;
}

class Builder {
    const Lowering &l;
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
    // The executor has checked every argument, so a kernel's own checks say nothing new but where it reads at computed indices.
    // They take longer than the sums of a small sweep.
    static bool needs_checks(const Stage &s) {
        if (s.kind == plan::StageKind::Contract && s.order != Order::Lanes) return true;  // allocates
        for (auto &a : s.accesses)
            for (int loop : a.reach)
                if (loop == any_element) return true;
        return false;
    }
    std::unique_ptr<plan::KernelT> finish(const Stage &s, const KernelBody &body, const KernelArguments &list) {
        auto k = std::make_unique<plan::KernelT>();
        k->id = int(kernels.modules.size());
        k->scalars = body.scalars;
        k->loads = body.loads();
        k->sums = body.sums();
        std::string name = next_name();
        try {
            // Else a check says what is too far.
            const bool checked = needs_checks(s), far = !checked || s.order == Order::Lanes;
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

    static const StageAccess &accessed_by(const Stage &s, const Stored &store) { return s.accesses[size_t(store.access)]; }
    Type type_of(const Stage &s, const Stored &store) const { return l.buffers[size_t(accessed_by(s, store).buffer)].type; }

    // One loop over [lo, hi) that computes every node of the stage at one element and stores those that have a buffer: to own
    // buffers, and with `peers` to those of as many other ranks where the store is to all.
    std::unique_ptr<plan::KernelT> sweep(const Stage &s, const AddendSource &addends, int peers = 0) {
        KernelArguments list;
        size_t D = s.loops.size();
        Loops loops = loop_parameters(list, D);
        KernelBody body(l, s, addends, Func(next_name()));
        std::vector<Stored> stores = s.body.stored;
        for (auto &store : s.body.stored)
            if (accessed_by(s, store).from == plan::From::Each) stores.insert(stores.end(), size_t(peers), store);
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
            start.push_back(Halide::undef(type_of(s, store)));
            in_place |= accessed_by(s, store).how() == plan::How::Update;
        }
        // Before the values, which may read it.
        if (D)
            define(body.out(pure_vars(D)), start);
        else if (in_place)
            define(body.out(), start);
        for (auto &store : stores) values.push_back(body.value(store.binding));
        for (auto &v : values) v = body.finish(v);
        values = visible(values, body.elements_read());
        define(D ? body.out(halide_indices(r, D)) : body.out(), values);
        if (D) {
            int width = 0;  // of the narrowest float: the others take two vectors
            for (auto &store : s.body.stored) {
                Type t = accumulator_type(type_of(s, store));
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
    std::unique_ptr<plan::PeerSumT> peer_sum(const Stage &s, const Binding &b) {
        KernelArguments list;
        size_t D = s.loops.size();
        Loops loops = loop_parameters(list, D);
        Expr first = add_scalar(list, Halide::Int(32), "first");
        KernelBody body(l, s, {AddendSource::OneRank, 1}, Func(next_name()));
        RDom r = D ? RDom(loops.halide_order(), "r") : RDom();
        body.here = D ? reversed_indices(r, D) : std::vector<Expr>{};
        Type t = b.value.type();
        Expr x = body.expression(b.value, body.here);
        auto so_far = D ? body.out(halide_indices(r, D)) : body.out();
        Expr sum;
        if (D)
            body.out(pure_vars(D)) = Halide::undef(t);
        else
            body.out() = Halide::undef(t);
        sum = body.finish(select(first != 0, x, combine(b.op, so_far, x)));
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
        const Binding &b = s.body.bindings[0];
        KernelArguments list;
        Loops loops = loop_parameters(list, s.loops.size());
        std::string name = next_name();
        KernelBody body(l, s, {}, Func(name));
        RDom r(loops.lo[0] + 1, loops.hi[0] - loops.lo[0] - 1, "r");
        Func acc(name + "_acc");
        acc() = body.expression(b.value, {loops.lo[0]});
        acc() = strict_float(combine(b.op, acc(), body.expression(b.value, {r.x})));
        acc.compute_root().update().unscheduled();
        body.set(0, acc());
        body.out() = body.finish(body.value(s.body.stored[0].binding));
        body.append_arguments(list);
        return finish(s, body, list);
    }

    // Over indices: of the whole of them, or of a block. What rides goes on with what it has stored so far.
    std::unique_ptr<plan::KernelT> reduction(const Stage &s) {
        KernelArguments list;
        Loops loops = loop_parameters(list, s.loops.size());
        KernelBody body(l, s, {}, Func(next_name()));
        const Binding &b = s.body.bindings[0];
        Halide::Parameter so_far = buffer_parameter(b.value.type(), 1, "so_far");
        Expr start = identity_of(b.op, b.value.type());
        if (s.rides) {
            Expr first = add_scalar(list, Halide::Int(32), "first");
            start = select(first != 0, start, load(so_far, {Var("x0")}));
        }
        if (s.order == Order::Lanes) define_lanes(s, body, loops.lo, loops.hi, target, start);
        else define_contraction(s, body, loops.lo, loops.hi, target);
        body.append_arguments(list);
        if (s.rides) add_buffer(list, so_far);
        return finish(s, body, list);
    }

    std::unique_ptr<plan::StageKernelsT> build(const Stage &s) {
        auto p = std::make_unique<plan::StageKernelsT>();
        switch (s.kind) {
        case plan::StageKind::BlockSum:
        case plan::StageKind::Contract: p->kernel = reduction(s); return p;
        case plan::StageKind::Fold: p->kernel = fold(s); return p;
        case plan::StageKind::Sweep: break;
        }
        const std::vector<int> sums = rank_sums(s);
        for (int b : sums) p->sums.push_back(peer_sum(s, s.body.bindings[size_t(b)]));
        p->kernel = sweep(s, {AddendSource::Chunks, 0});
        if (sums.empty()) return p;
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
        bool all = false;
        for (auto &a : s.accesses) all |= a.written >= 0 && a.from == plan::From::Each;
        for (auto &d : p.direct)
            if (all && d->ranks > 1 && d->ranks <= most_stored_to && !s.loops.empty())
                d->to_peers = sweep(s, {AddendSource::Direct, d->ranks}, d->ranks - 1);
    }

    // By body what was made already: of a body, and of a body with stores to the same ranks.
    struct Made {
        const Stage *stage;
        std::unique_ptr<plan::StageKernelsT> kernels;
    };
    std::vector<Made> made, made_to_peers;

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
        auto same = [&](const Made &m) { return equal_bodies(l, *m.stage, s); };
        auto same_stores = [&](const Made &m) { return stores_to(*m.stage) == stores_to(s) && same(m); };
        auto whole = std::find_if(made_to_peers.begin(), made_to_peers.end(), same_stores);
        if (whole == made_to_peers.end()) {
            auto known = std::find_if(made.begin(), made.end(), same);
            if (known == made.end()) known = made.insert(made.end(), Made{&s, build(s)});
            auto p = std::make_unique<plan::StageKernelsT>(*known->kernels);
            add_to_peers(s, *p);
            whole = made_to_peers.insert(made_to_peers.end(), Made{&s, std::move(p)});
        }
        auto p = std::make_unique<plan::StageKernelsT>(*whole->kernels);
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
        std::vector<Expr> values = g.scalars;
        for (auto &r : g.requirements) values.push_back(r.condition);
        if (values.empty()) return -1;
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
            // Shared parts get names, or it would be walked as a tree.
            Expr value = common_subexpression_elimination(values[k]);
            f() = strict_float(Halide::Internal::substitute(parameters, value));
            outs.push_back(f);
        }
        std::string name = next_name();
        kernels.modules.push_back(compile_kernels(outs, list, name, target, false));
        kernels.names.push_back(name);
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
