#include "lang/reference/nodes.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/reference/arithmetic.h"

namespace stretto::interpreter {

int64_t extent_of(const Graph &g, const Dim &d, const std::map<std::string, int64_t> &sizes, int ranks) {
    if (d.kind == Dim::Constant) return d.value;
    if (d.kind == Dim::Ranks) return ranks;
    auto it = sizes.find(g.sizes.at(size_t(d.value)));
    if (it == sizes.end()) throw Error("reference: size " + g.sizes[size_t(d.value)] + " has no value");
    return it->second;
}

HostTensor part_of(const Graph &g, const Type &type, const Dims &dims, const Layout &layout,
                   const std::map<std::string, int64_t> &sizes, int rank, int ranks) {
    std::vector<int64_t> begin(dims.size()), extent;
    for (auto &d : dims) extent.push_back(extent_of(g, d, sizes, ranks));
    if (layout.is_sliced()) {
        const size_t d = size_t(layout.first_sliced());
        const int64_t n = extent.at(d);
        begin[d] = block_begin(n, rank, ranks);
        extent[d] = block_begin(n, rank + 1, ranks) - begin[d];
    }
    return HostTensor(type, begin, extent);
}

namespace {

// Stores element(index), of type `from`, for all elements that rank r has of n.
template <class F>
void fill(Run &run, const Node &n, int r, const Type &from, F element) {
    HostTensor t = run.part(n, r);
    int64_t p = 0;
    for_each_index(t.begin, t.extent, [&](const std::vector<int64_t> &index) {
        t.store(p++, cast_value(element(index), from, n.type));
    });
    run.ranks[size_t(r)].tensors[n.id] = std::move(t);
}

void compute_map(Run &run, const Node &n) {
    Evaluator value(n.value, n.vars());
    for (int r = 0; r < run.count(); r++)
        fill(run, n, r, value.type(), [&](auto &index) { return value(run.ranks[size_t(r)], index); });
}

void compute_reduction(Run &run, const Node &n) {
    for (int r = 0; r < run.count(); r++) fill(run, n, r, n.accumulator, reduction(run, n, r));
}

// The element of the rank that each element comes from, or the reduction of every rank's.
void compute_communication(Run &run, const Node &n, const Communication &c) {
    const From &from = c.from;
    if (from.kind == From::Rank && from.value >= run.count())
        throw Error("reference: " + n.name + " is a broadcast from rank " + std::to_string(from.value) + " of " +
                    std::to_string(run.count()));
    Evaluator value(n.value, n.vars());
    auto of_rank = [&](int k, const std::vector<int64_t> &index) { return value(run.ranks[size_t(k)], index); };
    const int64_t whole = from.kind == From::Owner ? run.extent(n.domain[size_t(from.dim)].extent) : 0;
    for (int r = 0; r < run.count(); r++)
        fill(run, n, r, c.reduce ? n.accumulator : value.type(), [&](auto &index) {
            if (from.kind == From::Rank) return of_rank(from.value, index);
            if (from.kind == From::Shift) {
                const int P = run.count(), k = r + from.value, there = from.cyclic ? ((k % P) + P) % P : k < 0 || k >= P ? r
                                                                                                                         : k;
                return value(run.ranks[size_t(r)], index, run.ranks[size_t(there)]);
            }
            if (!c.reduce) {
                int k = 0;
                while (index[size_t(from.dim)] >= block_begin(whole, k + 1, run.count())) k++;
                return of_rank(k, index);
            }
            Value sum;
            for (int k = 0; k < run.count(); k++) {
                Value addend = cast_value(of_rank(k, index), value.type(), n.accumulator);
                sum = k ? combine(*c.reduce, n.accumulator, sum, addend) : addend;
            }
            return sum;
        });
}

}  // namespace

void compute(Run &run, const Node &n) {
    if (n.as<Map>()) return compute_map(run, n);
    if (n.as<Reduction>() || n.as<Blocks>() || n.as<Fold>()) return compute_reduction(run, n);
    if (auto *c = n.as<Communication>()) return compute_communication(run, n, *c);
    throw Error("reference: no definition of node " + n.name);
}

}  // namespace stretto::interpreter
