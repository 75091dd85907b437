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

}  // namespace

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
    for (auto &store : stage.stores) {
        const Geometry &g = in.buffers[size_t(store.buffer)].own;
        store.view.crop(g, region, in.base(in.rank, store.buffer));
    }
    for (auto &store : stage.peer_stores)
        store.view.crop(in.buffers[size_t(store.buffer)].own, region, in.base(store.rank, store.buffer));
    return call(x, stage, stage.main);
}

}  // namespace stretto::runtime
