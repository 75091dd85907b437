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

std::string collective_with(Collective how, const Change &change) {
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
        CHECK(check(all_reduce(dims, Collective::Auto)) == "");
        CHECK(check(reduce_scatter(dims, dims - 1)) == "");
        CHECK(check(all_gather(dims, dims - 1)) == "");
    }
}

TEST_CASE("version and limits") {
    CHECK(momentum_with([](PlanT &p) { p.version = 3; }) == "version: version is 3, this runtime reads 1");
    CHECK(momentum_with([](PlanT &p) { p.kernels = -1; }) == "limit: kernels is -1, legal are 0 to 1048576");
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
    CHECK(momentum_with([](PlanT &p) { p.schedule = std::string(5000, 'x'); }) ==
          "text: schedule has 5000 bytes, at most 4096 are allowed");
}

TEST_CASE("enum") {
    CHECK(momentum_with([](PlanT &p) {
              p.arguments[0]->type = Type(13);
              p.buffers[0]->type = Type(13);
          }) == "enum: arguments[0].type is 13, legal are 0 to 12");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kind = StageKind(-1); }) ==
          "enum: stages[0].kind is -1, legal are 0 to 3");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->loads[0] = Load(0, From(4), 0); }) ==
          "enum: stages[0].kernel.loads[0].from is 4, legal are 0 to 3");
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
    CHECK(momentum_with([](PlanT &p) { p.scalar_kernel = -1; }) ==
          "scalar: scalar_kernel is -1, the plan has 2 scalars");
    CHECK(momentum_with([](PlanT &p) { p.scalar_kernel = 99; }) ==
          "kernel: scalar_kernel is 99, the plan has 17 kernels");
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
          "loop: stages[0].loops has more than one loop that is not Whole");
    CHECK(blocks_with(true, [](PlanT &p) { p.stages[0]->kind = StageKind::Fold; }) ==
          "loop: stages[0].kind is BlockSum if and only if one loop runs over blocks");
    CHECK(blocks_with(true, [](PlanT &p) { p.stages[0]->outputs = 1; }) ==
          "loop: stages[0].loops[0].range is a block, which only a reduced loop can be");
}

TEST_CASE("kernel and load") {
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->id = 17; }) ==
          "kernel: stages[0].kernel.id is 17, the plan has 17 kernels");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->scalars = {2}; }) ==
          "kernel: stages[0].kernel.scalars is 2, the plan has 2 scalars");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel.reset(); }) ==
          "kernel: stages[0].kernel is missing");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->loads = {Load(7, From::Own, 0)}; }) ==
          "load: stages[0].kernel.loads[0].buffer is 7, the plan has 3 buffers");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->loads = {Load(0, From::Sum, 1)}; }) ==
          "load: stages[0].kernel.loads[0].rank is 1, the plan has 1 sums in this stage");
    CHECK(
        momentum_with([](PlanT &p) { p.stages[0]->sums[0]->kernel->loads = {Load(2, From::Each, 0)}; }) ==
        "load: stages[0].sums[0].kernel.loads[0] reads buffer m of another rank, which is not marked peers");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->loads = {Load(0, From::Rank, -2)}; }) ==
          "load: stages[0].kernel.loads[0].rank is -2, not a rank");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->kernel->loads = {Load(0, From::Each, 0)};
              p.stages[0]->sums.clear();
              p.stages[0]->direct.clear();
          }) == "load: stages[0].kernel reads Each rank, which needs sums or a direct kernel");
}

TEST_CASE("sum and direct") {
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->sums[0]->kernel->loads = {Load(0, From::Own, 0)}; }) ==
          "sum: stages[0].sums[0] reads no operand of Each rank");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->kernel->loads = {}; }) ==
          "sum: stages[0].sums[0] is read by no load of the stage's kernel");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->sums[0]->kernel->loads.push_back(Load(0, From::Sum, 0));
          }) == "sum: stages[0].sums[0] reads another sum");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->direct[0]->ranks = 0; }) ==
          "direct: stages[0].direct[0].ranks is 0, legal are 1 to 1024");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->direct.push_back(std::make_unique<DirectT>(*p.stages[0]->direct[0]));
          }) == "direct: stages[0].direct[1].ranks is 2, as of an earlier one");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->direct[0]->kernel->loads = {}; }) ==
          "direct: stages[0].direct[0] reads no operand of Each rank");
}

TEST_CASE("a kernel that stores to peers") {
    auto with_to_peers = [](const std::function<void(StageT &, DirectT &)> &change) {
        return momentum_with([&](PlanT &p) {
            DirectT &d = *p.stages[0]->direct[0];
            change(*p.stages[0], d);
        });
    };
    CHECK(with_to_peers([](StageT &, DirectT &) {}) == "");
    CHECK(with_to_peers([](StageT &, DirectT &d) { d.to_peers->id = 99; }) ==
          "kernel: stages[0].direct[0].to_peers.id is 99, the plan has 17 kernels");
    CHECK(with_to_peers([](StageT &, DirectT &d) { d.ranks = 1; }) ==
          "direct: stages[0].direct[0].to_peers has no peers to store to");
    CHECK(with_to_peers([](StageT &s, DirectT &) { s.stores.erase(s.stores.begin()); }) ==
          "direct: stages[0].direct[0].to_peers has no peers to store to");
    CHECK(with_to_peers([](StageT &, DirectT &d) { d.to_peers->loads.clear(); }) ==
          "direct: stages[0].direct[0].to_peers loads something else than the kernel that does not store to "
          "peers");
}

TEST_CASE("store") {
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->stores = {}; }) == "store: stages[0].stores is empty");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->stores = {Store(0, To::Own, false)}; }) ==
          "store: stages[0].stores[0] writes the input g");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->stores.push_back(Store(1, To::Own, false)); }) ==
          "store: stages[0].stores[2] is a second one to buffer p");
    CHECK(momentum_with([](PlanT &p) { p.stages[0]->stores[1] = Store(2, To::All, true); }) ==
          "store: stages[0].stores[1] goes to every rank, but buffer m is sliced");
    CHECK(momentum_with([](PlanT &p) { p.buffers[1]->peers = false; }) ==
          "store: stages[0].stores[0] goes to every rank, but buffer p is not marked peers");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->loops[0] = Loop(Extent(ExtentKind::Size, 0), Range::Whole);
              p.stages[0]->stores.pop_back();
          }) == "store: stages[0].stores[0] writes all of buffer p on every rank: no loop is a slice");
    CHECK(momentum_with([](PlanT &p) {
              p.stages[0]->loops[0] = Loop(Extent(ExtentKind::Size, 0), Range::Whole);
              p.stages[0]->stores = {p.stages[0]->stores[1]};
          }) == "store: stages[0].stores[0] runs over more of buffer m than this rank's slice");
    CHECK(blocks_with(true, [](PlanT &p) { p.stages[0]->stores = {Store(1, To::Own, false)}; }) ==
          "store: stages[0].stores[0] has 1 dimensions, buffer total has 0");
    CHECK(blocks_with(true, [](PlanT &p) { p.buffers[2]->extents[0] = Extent(ExtentKind::Constant, 4); }) ==
          "store: stages[0].stores[0] is of block sums, buffer total.blocks has not one element a rank");
    CHECK(blocks_with(false,
                      [](PlanT &p) {
                          p.buffers[2]->peers = true;
                          p.stages[0]->stores = {Store(2, To::All, false)};
                      }) ==
          "store: stages[0].stores[0] of every block goes to the own, whole buffer only; total.blocks is "
          "stored to all or sliced");
}

TEST_CASE("collective") {
    CHECK(collective_with(Collective::Auto, [](PlanT &p) {
              p.stages[0]->loops[0] = Loop(Extent(ExtentKind::Size, 0), Range::Slice);
          }) == "collective: stages[0].loops of a collective are not all Whole");
    CHECK(collective_with(Collective::TwoPhase, [](PlanT &p) { p.buffers[1]->peers = false; }) ==
          "collective: stages[0] may store to every rank's out, which is not marked peers");
    CHECK(collective_with(Collective::OneShot, [](PlanT &p) { p.buffers[1]->peers = false; }) == "");
    CHECK(collective_with(Collective::Auto, [](PlanT &p) {
              p.stages[0]->sums.clear();
              p.stages[0]->direct.clear();
              p.stages[0]->kernel->loads = {Load(0, From::Own, 0)};
          }) == "collective: stages[0] sums over no rank: it has neither sums nor direct kernels");
}

TEST_CASE("order") {
    CHECK(blocks_with(true, [](PlanT &p) { std::swap(p.stages[0], p.stages[1]); }) ==
          "order: stages[0].kernel loads buffer total.blocks, which no earlier stage stores");
    CHECK(momentum_with([](PlanT &p) { p.arguments[1]->access = Access::Output; }) ==
          "order: stages[0].stores updates buffer p, which no earlier stage stores");
}
