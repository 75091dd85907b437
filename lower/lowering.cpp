#include "lower/lowering.h"

namespace stretto {

std::vector<Read> reads_of(const Graph &g, const Node &n) {
    std::vector<Read> reads;
    for_each_access(n.value, [&](const Halide::Internal::Call *c) {
        auto idx = indices_of(c);
        const Node &t = g.at(accessed(c));
        bool same = idx.size() == n.dimensions() && t.dims() == n.dims();
        for (size_t d = 0; same && d < idx.size(); d++) same = bare_index(idx[d]) == n.domain[d].name;
        reads.push_back({t.id, same});
    });
    return reads;
}

}  // namespace stretto
