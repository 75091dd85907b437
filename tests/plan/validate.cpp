// One broken plan for each rule, and the text that names the rule and the place.
#include <doctest/doctest.h>

#include <functional>

#include "collectives/plan/validate.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;
using namespace stretto::plan;

namespace {

using Change = std::function<void(PlanT &)>;

std::string momentum_with(const Change &change) {
    PlanT p = fused_momentum();
    change(p);
    return check(p);
}

std::string blocks_with(bool sliced, const Change &change) {
    PlanT p = block_sums(sliced);
    change(p);
    return check(p);
}

std::string all_reduce_with(Carried how, const Change &change) {
    PlanT p = all_reduce(1, how);
    change(p);
    return check(p);
}

}  // namespace

TEST_CASE("good plans") {
    CHECK(check(fused_momentum()) == "");
    CHECK(check(block_sums(true)) == "");
    CHECK(check(block_sums(false)) == "");
    CHECK(check(whole_sum()) == "");
    CHECK(check(broadcast(3)) == "");
    for (int dims : {1, 2}) {
        for (Carried how : {Carried::Auto, Carried::OneShot, Carried::TwoPhases}) CHECK(check(all_reduce(dims, how)) == "");
        CHECK(check(reduce_scatter(dims, dims - 1)) == "");
        CHECK(check(all_gather(dims, dims - 1)) == "");
    }
}

TEST_CASE("version and limits") {
    CHECK(momentum_with([](PlanT &p) { p.version = 2; }) == "version: version is 2, this runtime reads 3");
    CHECK(momentum_with([](PlanT &p) { p.cpu->kernels = -1; }) == "limit: cpu.kernels is -1, legal are 0 to 1048576");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->loops.resize(9, Loop(Extent(ExtentKind::Constant, 1), Range::Whole));
          }) == "limit: stages[0].loops has 9 entries, at most 8 are allowed");
    CHECK(momentum_with([](PlanT &p) {
              p.buffers[1]->extents.resize(9, Extent(ExtentKind::Constant, 1));
              p.arguments[1]->extents = p.buffers[1]->extents;
          }) == "limit: arguments[1].extents has 9 dimensions, at most 8 are allowed");
}

TEST_CASE("text") {
    CHECK(momentum_with([](PlanT &p) { p.name = ""; }) == "text: name is empty");
    CHECK(momentum_with([](PlanT &p) { p.arguments[2]->name = "\xff"; }) ==
          "text: arguments[2].name is not UTF-8 text");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->names = std::string(5000, 'x'); }) ==
          "text: stages[0].names has 5000 bytes, at most 4096 are allowed");
}

TEST_CASE("enum") {
    CHECK(momentum_with([](PlanT &p) {
              p.arguments[0]->type = Type(13);
              p.buffers[0]->type = Type(13);
          }) == "enum: arguments[0].type is 13, legal are 0 to 12");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kind = StageKind(-1); }) ==
          "enum: stages[0].kind is -1, legal are 0 to 3");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->accesses[0]->from = From(4); }) ==
          "enum: stages[0].accesses[0].from is 4, legal are 0 to 3");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->accesses[0]->how = How(3); }) ==
          "enum: stages[0].accesses[0].how is 3, legal are 0 to 2");
    CHECK(momentum_with([](PlanT &p) { p.items[0] = Item(ItemKind(3), 0); }) ==
          "enum: items[0].kind is 3, legal are 0 to 2");
}

TEST_CASE("extent") {
    auto extent = [](Extent e) {
        return [e](PlanT &p) { p.buffers[1]->extents[0] = p.arguments[1]->extents[0] = e; };
    };
    CHECK(momentum_with(extent(Extent(ExtentKind::Constant, -5))) ==
          "extent: arguments[1].extents[0].value is -5, legal are 0 to 2147483647");
    CHECK(momentum_with(extent(Extent(ExtentKind::Size, 1))) ==
          "extent: arguments[1].extents[0].value is 1, the plan has 1 sizes");
    CHECK(momentum_with([](PlanT &p) {
              p.arguments[1]->extents = p.buffers[1]->extents =
                  std::vector<Extent>(3, Extent(ExtentKind::Constant, 1 << 30));
          }) == "extent: arguments[1].extents multiplies to more than 64 bits of bytes");
}

TEST_CASE("size") {
    CHECK(momentum_with([](PlanT &p) { p.sizes[0]->argument = 9; }) ==
          "size: sizes[0].argument is 9, the plan has 4 arguments");
    CHECK(momentum_with([](PlanT &p) { p.sizes[0]->argument = 3; }) ==
          "size: sizes[0].argument is argument 3, a scalar");
    CHECK(momentum_with([](PlanT &p) { p.sizes[0]->dimension = 1; }) ==
          "size: sizes[0].dimension is 1, argument 0 has 1 dimensions");
    CHECK(momentum_with([](PlanT &p) { p.sizes[0]->argument = 2; }) ==
          "size: sizes[0].dimension is 0, on which argument 2 is sliced");
    CHECK(momentum_with([](PlanT &p) { p.sizes[0]->argument = -1; }) ==
          "size: sizes[0].parameter is -1, the plan has 4 arguments");
    CHECK(blocks_with(true, [](PlanT &p) { p.arguments[1]->type = Type::Int32; }) ==
          "size: sizes[0].parameter is argument 1, which is no int64 scalar");
    CHECK(momentum_with([](PlanT &p) {
              p.buffers[0]->extents[0] = p.arguments[0]->extents[0] = Extent(ExtentKind::Constant, 4);
          }) == "size: sizes[0] is not the extent of dimension 0 of argument 0");
}

TEST_CASE("argument and buffer") {
    CHECK(momentum_with([](PlanT &p) { p.arguments[3]->buffer = 0; }) ==
          "argument: arguments[3].buffer is 0 for a scalar, which has none (-1)");
    CHECK(momentum_with([](PlanT &p) { p.arguments[1]->buffer = 2; }) ==
          "argument: arguments[1].buffer is 2, whose argument is 2");
    CHECK(momentum_with([](PlanT &p) { p.arguments[1]->buffer = 3; }) ==
          "argument: arguments[1].buffer is 3, the plan has 3 buffers");
    CHECK(momentum_with([](PlanT &p) { p.arguments[2]->sliced = -1; }) ==
          "argument: arguments[2].sliced and its layout disagree");
    CHECK(momentum_with([](PlanT &p) { p.buffers[1]->type = Type::Float64; }) ==
          "argument: arguments[1] and buffers[1] differ in type, extents or slice");
    CHECK(momentum_with([](PlanT &p) { p.buffers.push_back(std::make_unique<BufferT>(*p.buffers[0])); }) ==
          "buffer: buffers[3].argument is 0, whose buffer is 0");
    CHECK(blocks_with(true, [](PlanT &p) { p.buffers[2]->sliced = 1; }) ==
          "buffer: buffers[2].sliced is 1, legal are -1 to 0");
}

TEST_CASE("scalar and require") {
    CHECK(momentum_with([](PlanT &p) { p.cpu->scalar_kernel = -1; }) ==
          "scalar: cpu.scalar_kernel is -1, the plan has 2 scalars");
    CHECK(momentum_with([](PlanT &p) { p.cpu->scalar_kernel = 99; }) ==
          "kernel: cpu.scalar_kernel is 99, the plan has 18 kernels");
    CHECK(momentum_with([](PlanT &p) { p.requires_[0]->scalar = 0; }) ==
          "require: requires[0].scalar is 0, which is no Bool");
    CHECK(momentum_with([](PlanT &p) { p.requires_[0]->scalar = 2; }) ==
          "require: requires[0].scalar is 2, the plan has 2 scalars");
    CHECK(momentum_with([](PlanT &p) { p.requires_[0]->arguments = {1}; }) ==
          "require: requires[0].arguments names argument 1, a tensor");
}

TEST_CASE("loop") {
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->outputs = 2; }) ==
          "loop: stages[0].outputs is 2, the stage has 1 loops");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->outputs = 0; }) ==
          "loop: stages[0].outputs is 0, a sweep of 1 loops has that many");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->loops.push_back(p.stages[0]->loops[0]); }) ==
          "loop: stages[0].loops has more than one loop of which a rank does its slice");
    CHECK(blocks_with(true, [](PlanT &p) { p.stages[0]->kind = StageKind::Fold; }) ==
          "loop: stages[0].kind is BlockSum if and only if one loop runs over a block, the one of loop 0");
    CHECK(blocks_with(true, [](PlanT &p) { p.stages[0]->loops[0] = p.stages[0]->loops[1]; }) ==
          "loop: stages[0].loops[0].range is a block, which only a reduced loop can be");
    CHECK(blocks_with(true, [](PlanT &p) {
              p.stages[0]->loops[1] = Loop(Extent(ExtentKind::Size, 0), Range::AnySlice);
          }) == "loop: stages[0].loops[1].range is AnySlice, which only a dimension of the result can be");
}

namespace {

StageAccessT &access(PlanT &p, size_t k) { return *p.stages[0]->accesses[k]; }
StageKernelsT &kernels(PlanT &p) { return *p.cpu->stages[0]; }

}  // namespace

TEST_CASE("access") {
    CHECK(momentum_with([](PlanT &p) { access(p, 0).buffer = 7; }) ==
          "access: stages[0].accesses[0].buffer is 7, the plan has 3 buffers");
    CHECK(momentum_with([](PlanT &p) { access(p, 0).reach = {}; }) ==
          "access: stages[0].accesses[0].reach has 0 dimensions, buffer g has 1");
    CHECK(momentum_with([](PlanT &p) { access(p, 0).reach = {1}; }) ==
          "access: stages[0].accesses[0].reach is 1, the stage has 1 loops");
    CHECK(momentum_with([](PlanT &p) {
              access(p, 0).from = From::Rank;
              access(p, 0).rank = -2;
          }) == "access: stages[0].accesses[0].rank is -2, not a rank");
    CHECK(momentum_with([](PlanT &p) {
              access(p, 0).from = From::Shift;
              access(p, 0).rank = -(1 << 21);
          }) == "access: stages[0].accesses[0].rank is -2097152, not a rank");
    CHECK(momentum_with([](PlanT &p) {
              access(p, 2).from = From::Shift;
              access(p, 2).how = How::Write;
          }) == "store: stages[0].accesses[2] goes to one rank's m, and a rank has only its slice");
    CHECK(momentum_with([](PlanT &p) { access(p, 2).from = From::Shift; }) ==
          "store: stages[0].accesses[2] updates buffer m in place, which only a sweep can do, on its own rank");
    CHECK(momentum_with([](PlanT &p) { access(p, 0).buffer = 2; }) ==
          "access: stages[0].accesses reads and writes buffer m, and not in one Update");
}

TEST_CASE("kernel and load") {
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->id = 18; }) ==
          "kernel: cpu.stages[0].kernel.id is 18, the plan has 18 kernels");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->scalars = {2}; }) ==
          "kernel: cpu.stages[0].kernel.scalars is 2, the plan has 2 scalars");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel.reset(); }) == "kernel: cpu.stages[0].kernel is missing");
    CHECK(momentum_with([](PlanT &p) { p.cpu->stages.clear(); }) ==
          "kernel: cpu.stages has 0 entries, the plan has 1 stages");
    CHECK(momentum_with([](PlanT &p) { p.cpu.reset(); }) == "kernel: cpu is missing");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->loads = {7}; }) ==
          "load: cpu.stages[0].kernel.loads[0] is 7, the plan has 3 accesses in this stage");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->loads = {1}; }) ==
          "load: cpu.stages[0].kernel.loads[0] is access 1, which is no Read");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->sums = {1}; }) ==
          "load: cpu.stages[0].kernel.sums is 1, the plan has 1 sums in this stage");
    CHECK(momentum_with([](PlanT &p) {
              kernels(p).kernel->loads = {0};
              kernels(p).kernel->sums.clear();
              kernels(p).sums.clear();
              kernels(p).direct.clear();
          }) == "load: cpu.stages[0].kernel reads Each rank, which needs sums or a direct kernel");
}

TEST_CASE("sum and direct") {
    CHECK(momentum_with([](PlanT &p) { kernels(p).sums[0]->kernel->loads = {}; }) ==
          "sum: cpu.stages[0].sums[0] reads no operand of Each rank");
    CHECK(momentum_with([](PlanT &p) { kernels(p).kernel->sums = {}; }) ==
          "sum: cpu.stages[0].sums[0] is read by no load of the stage's kernel");
    CHECK(momentum_with([](PlanT &p) { kernels(p).sums[0]->kernel->sums = {0}; }) ==
          "sum: cpu.stages[0].sums[0] reads another sum");
    CHECK(momentum_with([](PlanT &p) { kernels(p).direct[0]->ranks = 0; }) ==
          "direct: cpu.stages[0].direct[0].ranks is 0, legal are 1 to 1024");
    CHECK(momentum_with([](PlanT &p) {
              kernels(p).direct.push_back(std::make_unique<DirectT>(*kernels(p).direct[0]));
          }) == "direct: cpu.stages[0].direct[1].ranks is 2, as of an earlier one");
    CHECK(momentum_with([](PlanT &p) { kernels(p).direct[0]->kernel->loads = {}; }) ==
          "direct: cpu.stages[0].direct[0] reads no operand of Each rank");
    CHECK(momentum_with([](PlanT &p) { kernels(p).direct[0]->kernel->sums = {0}; }) ==
          "direct: cpu.stages[0].direct[0] reads a sum");
}

TEST_CASE("a kernel that stores to peers") {
    auto with_to_peers = [](const std::function<void(PlanT &, DirectT &)> &change) {
        return momentum_with([&](PlanT &p) { change(p, *kernels(p).direct[0]); });
    };
    CHECK(with_to_peers([](PlanT &, DirectT &) {}) == "");
    CHECK(with_to_peers([](PlanT &, DirectT &d) { d.to_peers->id = 99; }) ==
          "kernel: cpu.stages[0].direct[0].to_peers.id is 99, the plan has 18 kernels");
    CHECK(with_to_peers([](PlanT &, DirectT &d) { d.ranks = 1; }) ==
          "direct: cpu.stages[0].direct[0].to_peers has no peers to store to");
    CHECK(with_to_peers([](PlanT &p, DirectT &) { access(p, 1).from = From::Own; }) ==
          "direct: cpu.stages[0].direct[0].to_peers has no peers to store to");
    CHECK(with_to_peers([](PlanT &, DirectT &d) { d.to_peers->loads.clear(); }) ==
          "direct: cpu.stages[0].direct[0].to_peers loads something else than the kernel that does not store to peers");
}

TEST_CASE("store") {
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->accesses.resize(1); }) == "store: stages[0].accesses writes nothing");
    CHECK(momentum_with([](PlanT &p) { access(p, 1).buffer = 0; }) == "store: stages[0].accesses[1] writes the input g");
    CHECK(momentum_with([](PlanT &p) { access(p, 2).buffer = 1; }) ==
          "store: stages[0].accesses[2] is a second one to buffer p");
    CHECK(momentum_with([](PlanT &p) { access(p, 2).from = From::Each; }) ==
          "store: stages[0].accesses[2] goes to every rank, but buffer m is sliced");
    CHECK(momentum_with([](PlanT &p) { access(p, 2).from = From::Rank; }) ==
          "store: stages[0].accesses[2] writes to one rank's m");
    CHECK(momentum_with([](PlanT &p) { access(p, 1).reach = {-1}; }) ==
          "store: stages[0].accesses[1].reach is not the element that the stage computes");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->loops[0] = Loop(Extent(ExtentKind::Size, 0), Range::Whole);
          }) == "store: stages[0].accesses[1] writes all of buffer p on every rank: no loop is a slice");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->loops[0] = Loop(Extent(ExtentKind::Size, 0), Range::Whole);
              access(p, 1).from = From::Own;
          }) == "store: stages[0].accesses[2] runs over more of buffer m than this rank's slice");
    CHECK(blocks_with(true, [](PlanT &p) {
              access(p, 1).buffer = 1;
              access(p, 1).reach = {};
          }) == "store: stages[0].accesses[1] has 1 dimensions, buffer total has 0");
    CHECK(blocks_with(true, [](PlanT &p) { access(p, 1).how = How::Update; }) ==
          "store: stages[0].accesses[1] updates buffer total.blocks in place, which only a sweep can do, on its own rank");
    CHECK(all_reduce_with(Carried::TwoPhases, [](PlanT &p) { access(p, 1).from = From::Own; }) ==
          "store: stages[0].accesses[1] of a slice that the runtime chooses goes to the own buffer out only");
}

TEST_CASE("item") {
    CHECK(momentum_with([](PlanT &p) { p.items[1] = Item(ItemKind::Sync, 1); }) ==
          "item: items[1].index is 1, the plan has 1 syncs");
    CHECK(momentum_with([](PlanT &p) { p.items.push_back(p.items[0]); }) ==
          "item: stages[0] is executed in 2 places");
    CHECK(momentum_with([](PlanT &p) { p.items.clear(); }) == "item: stages[0] is executed in 0 places");
    CHECK(momentum_with([](PlanT &p) { p.syncs[0]->buffers = {3}; }) ==
          "item: syncs[0].buffers is 3, the plan has 3 buffers");
    CHECK(all_reduce_with(Carried::Auto, [](PlanT &p) { p.choices[0] = Choice(0, 2); }) ==
          "item: choices[0] is 2, the plan has 2 stages");
    CHECK(all_reduce_with(Carried::Auto, [](PlanT &p) { p.choices[0] = Choice(1, 0); }) ==
          "item: choices[0] has arms that do not compute the same");
    CHECK(all_reduce_with(Carried::Auto, [](PlanT &p) {
              p.buffers.push_back(std::make_unique<BufferT>(*p.buffers[1]));
              p.buffers[2]->argument = -1;
              p.stages[1]->accesses[1]->buffer = 2;
          }) == "item: choices[0] has arms that do not compute the same");
}

TEST_CASE("order") {
    CHECK(blocks_with(true, [](PlanT &p) { std::swap(p.items[0], p.items[2]); }) ==
          "order: stages[1].accesses[0] reads buffer total.blocks, which no earlier stage stores");
    CHECK(momentum_with([](PlanT &p) { p.arguments[1]->access = Access::Output; }) ==
          "order: stages[0].accesses[1] reads buffer p, which no earlier stage stores");
}
