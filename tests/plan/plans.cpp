#include "tests/plan/plans.h"

#include <thread>

#include "tests/worlds/worlds.h"

namespace stretto::test {

using namespace plan;
namespace {

Extent size(int64_t i) { return Extent(ExtentKind::Size, i); }

struct Tensor {
    const char *name;
    Access access;
    LayoutKind layout;
    int sliced;
};

// A plan of float tensors that all have the sizes n, or B and H, taken from the first one that has them whole; else
// appended as parameters.
PlanT with_tensors(const char *name, int dims, const std::vector<Tensor> &tensors) {
    PlanT p;
    p.name = name;
    p.cpu = std::make_unique<CpuT>();
    p.cpu->kernels = kernel_count;
    std::vector<Extent> extents;
    for (int d = 0; d < dims; d++) {
        extents.push_back(size(d));
        auto s = std::make_unique<SizeT>();
        s->name = dims == 1 ? "n" : std::string(1, "BH"[d]);
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

std::unique_ptr<KernelT> kernel(int id, std::vector<int> loads, std::vector<int> sums = {}, std::vector<int> scalars = {}) {
    auto k = std::make_unique<KernelT>();
    k->id = id;
    k->loads = std::move(loads);
    k->sums = std::move(sums);
    k->scalars = std::move(scalars);
    return k;
}

// A stage with its kernels, of which the plan gets both.
struct Made {
    StageT stage;
    StageKernelsT kernels;

    Made(const char *name, int dims, Range cut_range, int cut) {
        stage.names = name;
        stage.outputs = dims;
        for (int d = 0; d < dims; d++)
            stage.loops.push_back(Loop(size(d), cut_range == Range::AnySlice || d == cut ? cut_range : Range::Whole));
    }
    void access(int buffer, From from, How how, std::vector<int> reach, int rank = 0) {
        auto a = std::make_unique<StageAccessT>();
        a->buffer = buffer;
        a->from = from;
        a->how = how;
        a->reach = std::move(reach);
        a->rank = rank;
        stage.accesses.push_back(std::move(a));
    }
    // Of access 0.
    void add_sum(int id) {
        auto sum = std::make_unique<PeerSumT>();
        sum->kernel = kernel(id, {0});
        sum->type = Type::Float32;
        kernels.sums.push_back(std::move(sum));
    }
    void add_direct(int ranks, int id, std::vector<int> scalars = {}) {
        auto d = std::make_unique<DirectT>();
        d->ranks = ranks;
        d->kernel = kernel(id, {0}, {}, std::move(scalars));
        kernels.direct.push_back(std::move(d));
    }
};

// The number of the stage.
int add_stage(PlanT &p, const Made &made) {
    p.stages.push_back(std::make_unique<StageT>(made.stage));
    p.cpu->stages.push_back(std::make_unique<StageKernelsT>(made.kernels));
    return int(p.stages.size()) - 1;
}

void add_item(PlanT &p, const Made &made) { p.items.push_back(Item(ItemKind::Stage, add_stage(p, made))); }

void add_sync(PlanT &p, std::vector<int> buffers) {
    p.items.push_back(Item(ItemKind::Sync, int(p.syncs.size())));
    p.syncs.push_back(std::make_unique<SyncT>());
    p.syncs.back()->buffers = std::move(buffers);
}

std::vector<int> own_element(int dims) { return dims == 1 ? std::vector<int>{0} : std::vector<int>{0, 1}; }

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

// Scratch of an element a block.
int add_blocks(PlanT &p) {
    auto b = std::make_unique<BufferT>();
    b->name = "total.blocks";
    b->type = Type::Float32;
    b->extents = {Extent(ExtentKind::Ranks, 0)};
    p.buffers.push_back(std::move(b));
    return int(p.buffers.size()) - 1;
}

void add_fold(PlanT &p, int blocks, int total) {
    Made f("total", 0, Range::Whole, -1);
    f.stage.kind = StageKind::Fold;
    f.stage.loops = {Loop(Extent(ExtentKind::Ranks, 0), Range::Whole)};
    f.access(blocks, From::Own, How::Read, {0});
    f.access(total, From::Own, How::Write, {});
    f.kernels.kernel = kernel(fold, {0});
    add_item(p, f);
}

}  // namespace

PlanT all_reduce(int dims, Carried how) {
    PlanT p = with_tensors("all_reduce", dims,
                           {{"g", Access::Input, LayoutKind::Partial, -1},
                            {"out", Access::Output, LayoutKind::Replicated, -1}});
    auto arm = [&](bool two_phases) {
        Made s("out", dims, two_phases ? Range::AnySlice : Range::Whole, -1);
        s.access(0, From::Each, How::Read, own_element(dims));
        s.access(1, two_phases ? From::Each : From::Own, How::Write, own_element(dims));
        s.kernels.kernel = kernel(dims == 1 ? copy_1d : copy_2d, {}, {0});
        s.add_sum(dims == 1 ? add_1d : add_2d);
        s.add_direct(2, dims == 1 ? add_2_ranks_1d : add_2_ranks_2d);
        s.add_direct(4, dims == 1 ? add_4_ranks_1d : add_4_ranks_2d);
        return s;
    };
    if (how == Carried::Auto) {
        const int one_shot = add_stage(p, arm(false));
        p.items.push_back(Item(ItemKind::Choice, 0));
        p.choices.push_back(Choice(one_shot, add_stage(p, arm(true))));
    } else {
        add_item(p, arm(how == Carried::TwoPhases));
    }
    add_sync(p, {0, 1});
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
                           i % 2 ? LayoutKind::Replicated : LayoutKind::Partial, -1});
    PlanT p = with_tensors("all_reduces", 1, tensors);
    std::vector<int> buffers;
    for (int k = 0; k < count; k++) {
        Made s(names[size_t(2 * k + 1)].c_str(), 1, Range::AnySlice, -1);
        s.access(2 * k, From::Each, How::Read, {0});
        s.access(2 * k + 1, From::Each, How::Write, {0});
        s.kernels.kernel = kernel(copy_1d, {}, {0});
        s.add_sum(add_1d);
        s.add_direct(2, add_2_ranks_1d);
        add_item(p, s);
        buffers.push_back(2 * k);
        buffers.push_back(2 * k + 1);
    }
    add_sync(p, buffers);
    return p;
}

PlanT reduce_scatter(int dims, int d) {
    PlanT p = with_tensors("reduce_scatter", dims,
                           {{"g", Access::Input, LayoutKind::Partial, -1}, {"out", Access::Output, LayoutKind::Sliced, d}});
    Made s("out", dims, Range::Slice, d);
    s.access(0, From::Each, How::Read, own_element(dims));
    s.access(1, From::Own, How::Write, own_element(dims));
    s.kernels.kernel = kernel(dims == 1 ? copy_1d : copy_2d, {}, {0});
    s.add_sum(dims == 1 ? add_1d : add_2d);
    s.add_direct(2, dims == 1 ? add_2_ranks_1d : add_2_ranks_2d);
    add_item(p, s);
    add_sync(p, {0});
    return p;
}

PlanT all_gather(int dims, int d) {
    PlanT p = with_tensors("all_gather", dims,
                           {{"x", Access::Input, LayoutKind::Sliced, d}, {"out", Access::Output, LayoutKind::Replicated, -1}});
    Made s("out", dims, Range::Slice, d);
    s.access(0, From::Own, How::Read, own_element(dims));
    s.access(1, From::Each, How::Write, own_element(dims));
    s.kernels.kernel = kernel(dims == 1 ? copy_1d : copy_2d, {0});
    add_item(p, s);
    add_sync(p, {1});
    return p;
}

PlanT broadcast(int root) {
    PlanT p = with_tensors("broadcast", 1,
                           {{"a", Access::Input, LayoutKind::Local, -1}, {"b", Access::Output, LayoutKind::Replicated, -1}});
    Made s("b", 1, Range::Whole, -1);
    s.access(0, From::Rank, How::Read, {0}, root);
    s.access(1, From::Own, How::Write, {0});
    s.kernels.kernel = kernel(copy_1d, {0});
    add_item(p, s);
    add_sync(p, {0});
    return p;
}

PlanT left_of(int root) {
    PlanT p = broadcast(root);
    p.stages[0]->loops[0] = Loop(size(0), Range::Slice);
    p.stages[0]->accesses[0]->reach = {-1};
    p.stages[0]->accesses[1]->from = From::Each;
    p.syncs[0]->buffers = {0, 1};
    p.cpu->stages[0]->kernel->id = left_neighbour;
    return p;
}

PlanT shifted_and_gathered() {
    PlanT p = with_tensors("shifted_and_gathered", 1,
                           {{"x", Access::Input, LayoutKind::Local, -1},
                            {"y", Access::Output, LayoutKind::Local, -1},
                            {"z", Access::Output, LayoutKind::Replicated, -1}});
    Made shift("y", 1, Range::Whole, -1);
    shift.access(0, From::Own, How::Read, {0});
    shift.access(1, From::Shift, How::Write, {0}, 1);
    shift.stage.accesses[1]->cyclic = true;
    shift.kernels.kernel = kernel(copy_1d, {0});
    add_item(p, shift);
    Made gather("z", 1, Range::Slice, 0);
    gather.access(0, From::Shift, How::Read, {0}, -1);
    gather.access(2, From::Each, How::Write, {0});
    gather.kernels.kernel = kernel(copy_1d, {0});
    add_item(p, gather);
    add_sync(p, {0, 1, 2});
    return p;
}

PlanT riding_sums() {
    PlanT p = with_tensors("riding_sums", 1,
                           {{"x", Access::Input, LayoutKind::Sliced, 0}, {"y", Access::Output, LayoutKind::Sliced, 0}});
    add_total(p, "riding_sums");
    const int blocks = add_blocks(p);
    Made s("y", 1, Range::Slice, 0);
    s.access(0, From::Own, How::Read, {0});
    s.access(1, From::Own, How::Write, {0});
    s.kernels.kernel = kernel(copy_1d, {0});
    add_item(p, s);
    Made r("total.blocks", 0, Range::Whole, -1);
    r.stage.kind = StageKind::BlockSum;
    r.stage.rides = true;
    r.stage.loops = {Loop(Extent(ExtentKind::Ranks, 0), Range::Slice), Loop(size(0), Range::Block)};
    r.stage.outputs = 1;
    r.access(1, From::Own, How::Read, {1});
    r.access(blocks, From::Own, How::Write, {0});
    r.kernels.kernel = kernel(block_sum, {0});
    add_item(p, r);
    add_fold(p, blocks, 2);
    return p;
}

PlanT fused_momentum() {
    PlanT p = with_tensors("momentum", 1,
                           {{"g", Access::Input, LayoutKind::Partial, -1},
                            {"p", Access::InOut, LayoutKind::Replicated, -1},
                            {"m", Access::InOut, LayoutKind::Sliced, 0}});
    p.schedule = "fused";
    p.program = "gsum = all_reduce(g)\np <- p1";
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
    p.cpu->scalar_kernel = momentum_scalars;
    auto r = std::make_unique<RequireT>();
    r->scalar = 1;
    r->text = "lr must be positive";
    r->arguments = {3};
    p.requires_.push_back(std::move(r));
    Made s("gsum", 1, Range::Slice, 0);
    s.stage.names = "gsum, m1, p1";
    s.access(0, From::Each, How::Read, {0});
    s.access(1, From::Each, How::Update, {0});
    s.access(2, From::Own, How::Update, {0});
    s.kernels.kernel = kernel(momentum, {}, {0}, {0});
    s.add_sum(add_1d);
    s.add_direct(2, momentum_2_ranks, {0});
    s.kernels.direct[0]->to_peers = kernel(momentum_2_ranks_to_peers, {0}, {}, {0});
    add_item(p, s);
    add_sync(p, {0, 1});
    return p;
}

PlanT block_sums(bool sliced) {
    PlanT p = with_tensors(
        "block_sums", 1,
        {{"x", Access::Input, sliced ? LayoutKind::Sliced : LayoutKind::Replicated, sliced ? 0 : -1}});
    add_total(p, "block_sums");
    const int blocks = add_blocks(p);
    Made s("total.blocks", 0, Range::Whole, -1);
    s.stage.kind = StageKind::BlockSum;
    s.stage.loops = {Loop(Extent(ExtentKind::Ranks, 0), sliced ? Range::Slice : Range::Whole), Loop(size(0), Range::Block)};
    s.stage.outputs = 1;
    s.access(0, From::Own, How::Read, {1});
    s.access(blocks, sliced ? From::Each : From::Own, How::Write, {0});
    s.kernels.kernel = kernel(block_sum, {0});
    add_item(p, s);
    if (sliced) add_sync(p, {blocks});
    add_fold(p, blocks, 1);
    return p;
}

PlanT whole_sum() {
    PlanT p = with_tensors("whole_sum", 1, {{"g", Access::Input, LayoutKind::Local, -1}});
    add_total(p, "whole_sum");
    Made s("total", 0, Range::Whole, -1);
    s.stage.kind = StageKind::Fold;
    s.access(0, From::Each, How::Read, {-1});
    s.access(1, From::Own, How::Write, {});
    s.kernels.kernel = kernel(copy_0d, {}, {0});
    s.add_sum(add_whole);
    add_item(p, s);
    add_sync(p, {0});
    return p;
}

void on_ranks(World world, int ranks, const std::function<void(stretto_comm_t *)> &body) {
    std::vector<stretto_comm_t *> comms(size_t(ranks), nullptr);
    check_status(world == World::Threads    ? stretto_comm_threads(ranks, comms.data())
                 : world == World::Messages ? make_message_comms(ranks, comms.data())
                                            : make_two_host_comms(ranks, comms.data()));
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
