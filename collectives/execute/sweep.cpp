#include "collectives/execute/sweep.h"

#include "collectives/base/error.h"
#include "collectives/execute/kernel_error.h"

namespace stretto::runtime {
namespace {

int call(Execution &x, const StageInstance &stage, const KernelCall &kernel) {
    int code = x.dispatch(kernel.kernel, const_cast<void **>(kernel.argv.data()));
    if (code == 0) return STRETTO_OK;
    std::string said = in_program_terms(x.program.plan, *stage.plan, take_kernel_error());
    return fail(x, STRETTO_KERNEL,
                "kernel " + std::to_string(kernel.kernel) + " of stage " + stage_name(*stage.plan) +
                    " returned " + std::to_string(code) + (said.empty() ? "" : ": " + said));
}

// The elements of `region` go to the sum of block k.
int ride(Execution &x, StageInstance &rider, const Box &region, int64_t k) {
    Instance &in = x.instance;
    const Block block = block_of(rider.block_extent, int(k), in.ranks);
    rider.first = region.empty() || region.lo[0] == block.begin;
    rider.range[0] = int32_t(k), rider.range[1] = int32_t(k + 1);
    for (int d = 0; d < region.dims; d++) {
        rider.range[2 * d + 2] = int32_t(region.lo[d]);
        rider.range[2 * d + 3] = int32_t(region.hi[d]);
    }
    Box element;
    element.dims = 1;
    element.lo[0] = k, element.hi[0] = k + 1;
    auto &store = rider.stores[0];
    store.view.crop(in.buffers[size_t(store.buffer)].own, element, in.base(in.rank, store.buffer));
    return call(x, rider, rider.main);
}

}  // namespace

int begin_riders(Execution &x, StageInstance &stage) {
    const Instance &in = x.instance;
    for (auto *rider : stage.riders) {
        const Box &blocks = rider->regions[size_t(in.rank)];
        for (int64_t k = blocks.lo[0]; k < blocks.hi[0]; k++) {
            const Block block = block_of(rider->block_extent, int(k), in.ranks);
            Box region = stage.regions[size_t(in.rank)];
            region.lo[0] = block.begin, region.hi[0] = block.end;
            if (!region.empty()) continue;
            if (int status = ride(x, *rider, region, k)) return status;
        }
    }
    return STRETTO_OK;
}

int fail(Execution &x, int status, const std::string &text) {
    std::string full = x.program.plan.name + ": " + text;
    return x.alone() ? set_error_text(status, full) : x.transport().fail(status, full.c_str());
}

int compute(Execution &x, StageInstance &stage, const Box &region) {
    Instance &in = x.instance;
    if (stage.block_loop >= 0) {
        Block b = block_of(stage.block_extent, int(region.lo[0]), in.ranks);
        stage.range[2 * stage.block_loop] = int32_t(b.begin);
        stage.range[2 * stage.block_loop + 1] = int32_t(b.end);
    }
    for (int d = 0; d < stage.outputs; d++) {
        stage.range[2 * d] = int32_t(region.lo[d]);
        stage.range[2 * d + 1] = int32_t(region.hi[d]);
    }
    for (auto &sum : stage.sums) {
        Box chunk = region;
        chunk.dims = stage.outputs;
        sum.chunk.show(packed(chunk, sum.element), x.arena + sum.offset);
        for (auto &kernel : sum.calls)
            if (int status = call(x, stage, kernel)) return status;
    }
    for (auto *stores : {&stage.stores, &stage.peer_stores})
        for (auto &store : *stores)
            store.view.crop(in.buffers[size_t(store.buffer)].own, region, stored_at(x, store));
    if (int status = call(x, stage, stage.main)) return status;
    for (auto *rider : stage.riders) {
        // The last block that begins at the chunk's first row or before.
        const int64_t k = ((region.lo[0] + 1) * in.ranks - 1) / rider->block_extent;
        if (int status = ride(x, *rider, region, k)) return status;
    }
    return STRETTO_OK;
}

}  // namespace stretto::runtime
