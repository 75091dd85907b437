#include "tests/plan/plans.h"

#include <thread>

#include "collectives/comm/threads.h"

namespace stretto::test {

using namespace plan;

namespace {

Extent size(int64_t i) { return Extent(ExtentKind::Size, i); }

struct Tensor {
    const char *name;
    Access access;
    LayoutKind layout;
    int sliced;
    bool peers;
};

// A plan of float tensors that all have the sizes n, or B and H, taken from the first one that has them whole; else
// appended as parameters.
PlanT with_tensors(const char *name, int dims, const std::vector<Tensor> &tensors) {
    PlanT p;
    p.name = name;
    p.kernels = kernel_count;
    std::vector<Extent> extents;
    for (int d = 0; d < dims; d++) {
        extents.push_back(size(d));
        auto s = std::make_unique<SizeT>();
        s->name = dims == 1 ? "n" : d == 0 ? "B"
                                           : "H";
        for (size_t i = 0; i < tensors.size() && s->argument < 0; i++)
            if (tensors[i].sliced != d) s->argument = int(i), s->dimension = d;
        if (s->argument < 0) s->parameter = int(tensors.size());
        p.sizes.push_back(std::move(s));
    }
    for (size_t i = 0; i < tensors.size(); i++) {
        auto a = std::make_unique<ArgumentT>();
        a->name = tensors[i].name;
        a->type = Type::Float32;
        a->access = tensors[i].access;
        a->layout = tensors[i].layout;
        a->sliced = tensors[i].sliced;
        a->extents = extents;
        a->buffer = int(i);
        auto b = std::make_unique<BufferT>();
        b->name = a->name;
        b->type = a->type;
        b->extents = extents;
        b->sliced = a->sliced;
        b->argument = int(i);
        b->peers = tensors[i].peers;
        p.arguments.push_back(std::move(a));
        p.buffers.push_back(std::move(b));
    }
    for (auto &s : p.sizes) {
        if (s->argument >= 0) continue;
        auto a = std::make_unique<ArgumentT>();
        a->name = s->name;
        a->scalar = true;
        a->type = Type::Int64;
        p.arguments.push_back(std::move(a));
    }
    return p;
}

std::unique_ptr<KernelT> kernel(int id, std::vector<Load> loads, std::vector<int> scalars = {}) {
    auto k = std::make_unique<KernelT>();
    k->id = id;
    k->loads = std::move(loads);
    k->scalars.assign(scalars.begin(), scalars.end());
    return k;
}

void add_sum(StageT &s, int id, int buffer) {
    auto sum = std::make_unique<PeerSumT>();
    sum->kernel = kernel(id, {Load(buffer, From::Each, 0)});
    sum->type = Type::Float32;
    s.sums.push_back(std::move(sum));
}

void add_direct(StageT &s, int ranks, int id, int buffer, std::vector<int> scalars = {}) {
    auto d = std::make_unique<DirectT>();
    d->ranks = ranks;
    d->kernel = kernel(id, {Load(buffer, From::Each, 0)}, scalars);
    s.direct.push_back(std::move(d));
}

std::unique_ptr<StageT> stage(const char *name, int dims, int sliced) {
    auto s = std::make_unique<StageT>();
    s->names = {name};
    s->outputs = dims;
    for (int d = 0; d < dims; d++)
        s->loops.push_back(Loop(size(d), d == sliced ? Range::Slice : Range::Whole));
    return s;
}

// 0-d tensor `total` as the last argument, and `stage` that stores it.
void add_total(PlanT &p, const char *name) {
    auto a = std::make_unique<ArgumentT>();
    a->name = "total";
    a->type = Type::Float32;
    a->access = Access::Output;
    a->buffer = int(p.buffers.size());
    auto b = std::make_unique<BufferT>();
    b->name = "total";
    b->type = Type::Float32;
    b->argument = int(p.arguments.size());
    p.arguments.push_back(std::move(a));
    p.buffers.push_back(std::move(b));
    p.name = name;
}

}  // namespace

PlanT all_reduce(int dims, Collective how) {
    PlanT p = with_tensors("all_reduce", dims,
                           {{"g", Access::Input, LayoutKind::Partial, -1, true},
                            {"out", Access::Output, LayoutKind::Replicated, -1, true}});
    auto s = stage("out", dims, -1);
    s->collective = how;
    s->kernel = kernel(dims == 1 ? copy_1d : copy_2d, {Load(0, From::Sum, 0)});
    add_sum(*s, dims == 1 ? add_1d : add_2d, 0);
    add_direct(*s, 2, dims == 1 ? add_2_ranks_1d : add_2_ranks_2d, 0);
    add_direct(*s, 4, dims == 1 ? add_4_ranks_1d : add_4_ranks_2d, 0);
    s->stores = {Store(1, To::Own, false)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT all_reduces(int count) {
    std::vector<std::string> names;
    for (int k = 0; k < count; k++) {
        names.push_back("g_" + std::to_string(k));
        names.push_back("out_" + std::to_string(k));
    }
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < names.size(); i++)
        tensors.push_back({names[i].c_str(), i % 2 ? Access::Output : Access::Input,
                           i % 2 ? LayoutKind::Replicated : LayoutKind::Partial, -1, true});
    PlanT p = with_tensors("all_reduces", 1, tensors);
    for (int k = 0; k < count; k++) {
        auto s = stage(names[size_t(2 * k + 1)].c_str(), 1, -1);
        s->collective = Collective::Auto;
        s->kernel = kernel(copy_1d, {Load(2 * k, From::Sum, 0)});
        add_sum(*s, add_1d, 2 * k);
        add_direct(*s, 2, add_2_ranks_1d, 2 * k);
        s->stores = {Store(2 * k + 1, To::Own, false)};
        p.stages.push_back(std::move(s));
    }
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT reduce_scatter(int dims, int d) {
    PlanT p = with_tensors("reduce_scatter", dims,
                           {{"g", Access::Input, LayoutKind::Partial, -1, true},
                            {"out", Access::Output, LayoutKind::Sliced, d, false}});
    auto s = stage("out", dims, d);
    s->kernel = kernel(dims == 1 ? copy_1d : copy_2d, {Load(0, From::Sum, 0)});
    add_sum(*s, dims == 1 ? add_1d : add_2d, 0);
    add_direct(*s, 2, dims == 1 ? add_2_ranks_1d : add_2_ranks_2d, 0);
    s->stores = {Store(1, To::Own, false)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT all_gather(int dims, int d) {
    PlanT p = with_tensors("all_gather", dims,
                           {{"x", Access::Input, LayoutKind::Sliced, d, false},
                            {"out", Access::Output, LayoutKind::Replicated, -1, true}});
    auto s = stage("out", dims, d);
    s->kernel = kernel(dims == 1 ? copy_1d : copy_2d, {Load(0, From::Own, 0)});
    s->stores = {Store(1, To::All, false)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT broadcast(int root) {
    PlanT p = with_tensors("broadcast", 1,
                           {{"a", Access::Input, LayoutKind::Local, -1, true},
                            {"b", Access::Output, LayoutKind::Replicated, -1, false}});
    auto s = stage("b", 1, -1);
    s->kernel = kernel(copy_1d, {Load(0, From::Rank, root)});
    s->stores = {Store(1, To::Own, false)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT fused_momentum() {
    PlanT p = with_tensors("momentum", 1,
                           {{"g", Access::Input, LayoutKind::Partial, -1, true},
                            {"p", Access::InOut, LayoutKind::Replicated, -1, true},
                            {"m", Access::InOut, LayoutKind::Sliced, 0, false}});
    p.schedule = "fused";
    auto lr = std::make_unique<ArgumentT>();
    lr->name = "lr";
    lr->scalar = true;
    lr->type = Type::Float32;
    p.arguments.push_back(std::move(lr));
    const std::pair<const char *, Type> scalars[] = {{"rate", Type::Float32}, {"ok", Type::Bool}};
    for (auto &[name, type] : scalars) {
        p.scalars.push_back(std::make_unique<ScalarT>());
        p.scalars.back()->name = name;
        p.scalars.back()->type = type;
    }
    p.scalar_kernel = momentum_scalars;
    auto r = std::make_unique<RequireT>();
    r->scalar = 1;
    r->text = "lr must be positive";
    r->arguments = {3};
    p.requires_.push_back(std::move(r));
    auto s = stage("gsum", 1, 0);
    s->names = {"gsum", "m1", "p1"};
    s->kernel = kernel(momentum, {Load(0, From::Sum, 0)}, {0});
    add_sum(*s, add_1d, 0);
    add_direct(*s, 2, momentum_2_ranks, 0, {0});
    s->direct[0]->to_peers = kernel(momentum_2_ranks_to_peers, {Load(0, From::Each, 0)}, {0});
    s->stores = {Store(1, To::All, true), Store(2, To::Own, true)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

PlanT block_sums(bool sliced) {
    PlanT p = with_tensors(
        "block_sums", 1,
        {{"x", Access::Input, sliced ? LayoutKind::Sliced : LayoutKind::Replicated, sliced ? 0 : -1, false}});
    add_total(p, "block_sums");
    auto b = std::make_unique<BufferT>();
    b->name = "total.blocks";
    b->type = Type::Float32;
    b->extents = {Extent(ExtentKind::Ranks, 0)};
    b->peers = sliced;
    p.buffers.push_back(std::move(b));
    auto s = std::make_unique<StageT>();
    s->kind = StageKind::BlockSum;
    s->names = {"total.blocks"};
    s->loops = {Loop(size(0), sliced ? Range::OwnBlock : Range::EachBlock)};
    s->kernel = kernel(block_sum, {Load(0, From::Own, 0)});
    s->stores = {Store(2, sliced ? To::All : To::Own, false)};
    p.stages.push_back(std::move(s));
    auto f = std::make_unique<StageT>();
    f->kind = StageKind::Fold;
    f->names = {"total"};
    f->kernel = kernel(fold, {Load(2, From::Own, 0)});
    f->stores = {Store(1, To::Own, false)};
    f->barrier_one_shot = f->barrier_two_phase = sliced;
    p.stages.push_back(std::move(f));
    return p;
}

PlanT whole_sum() {
    PlanT p = with_tensors("whole_sum", 1, {{"g", Access::Input, LayoutKind::Local, -1, true}});
    add_total(p, "whole_sum");
    auto s = std::make_unique<StageT>();
    s->kind = StageKind::Fold;
    s->names = {"total"};
    add_sum(*s, add_whole, 0);
    s->kernel = kernel(copy_0d, {Load(0, From::Sum, 0)});
    s->stores = {Store(1, To::Own, false)};
    p.stages.push_back(std::move(s));
    p.leave_one_shot = p.leave_two_phase = true;
    return p;
}

void on_ranks(World world, int ranks, const std::function<void(stretto_comm_t *)> &body) {
    std::vector<stretto_comm_t *> comms(size_t(ranks), nullptr);
    check_status(world == World::Threads ? stretto_comm_threads(ranks, comms.data())
                                         : runtime::make_message_comms(ranks, comms.data()));
    std::vector<std::thread> threads;
    for (auto *&comm : comms) {
        threads.emplace_back([&body, &comm] {
            try {
                body(comm);
            } catch (...) {  // doctest has counted and shown it
                stretto_comm_free(comm);
                comm = nullptr;
            }
        });
    }
    for (auto &t : threads) t.join();
    for (auto *comm : comms) stretto_comm_free(comm);
}

}  // namespace stretto::test
