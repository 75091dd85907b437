#include "collectives/execute/copy.h"
#include "collectives/execute/sweep.h"

namespace stretto::runtime {
// Own first, if it is one: the kernel has stored the chunk; now it is copied to the peers, the next rank's first to spread the
// traffic.
void copy_to_near(Execution &x, StageInstance &stage, const Box &region) {
    Instance &in = x.instance;
    if (!stage.peer_stores.empty()) return;  // the kernel has done it
    Caching caching = stage.streamed ? Caching::Streamed : Caching::Plain;
    for (auto &store : stage.stores) {
        const Geometry &g = in.buffers[size_t(store.buffer)].own;
        const uint8_t *from = stored_at(x, store);
        for (int i = 1, q = in.rank; i < in.ranks; i++) {
            if (++q == in.ranks) q = 0;
            if (store.to[size_t(q)] && q != store.rank && in.near[size_t(q)])
                copy_box(in.base(q, store.buffer), g, from, g, region, caching);
        }
    }
}

int run_on_windows(Execution &x, StageInstance &stage) {
    const Chunks &chunks = stage.chunks[size_t(x.instance.rank)];
    if (int status = begin_riders(x, stage)) return status;
    for (int64_t c = 0; c < chunks.count(); c++) {
        if (c && !x.alone())
            if (int status = x.transport().poll()) return status;
        Box region = chunks.at(c);
        if (int status = compute(x, stage, region)) return status;
        copy_to_near(x, stage, region);
    }
    if (stage.streamed) finish_streamed();
    x.comm.stats.bytes_loaded += stage.bytes_loaded;
    x.comm.stats.bytes_stored += stage.bytes_stored;
    return STRETTO_OK;
}

}  // namespace stretto::runtime
