#include "lower/lowering.h"

namespace stretto {

bool loads_from_ranks(const Node &n) {
    return n.as<AllReduce>() || n.as<ReduceScatter>() || n.as<Broadcast>();
}

std::vector<Read> reads_of(const Graph &g, const Node &n) {
    std::vector<Read> reads;
    for_each_access(n.value, [&](const Halide::Internal::Call *c) {
        auto idx = indices_of(c);
        const Node &t = g.at(accessed(c));
        bool same = idx.size() == n.vars.size() && t.dims == n.dims;
        for (size_t d = 0; same && d < idx.size(); d++) same = bare_index(idx[d]) == n.vars[d];
        reads.push_back({t.id, same});
    });
    return reads;
}

}  // namespace stretto
