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

Box box_of(const Graph &g, const Dims &dims, const Layout &layout,
           const std::map<std::string, int64_t> &sizes, int rank, int ranks) {
    if (layout.axis.size() != 1 || layout.is(AxisLayout::Rooted))
        throw Error("reference: a tensor is " + to_string(layout) +
                    "; only layouts of one axis, and not rooted, are known");
    Box b;
    for (auto &d : dims) {
        b.begin.push_back(0);
        b.extent.push_back(extent_of(g, d, sizes, ranks));
    }
    if (layout.is_sliced()) {
        size_t d = size_t(layout.sliced_dimension());
        int64_t n = b.extent.at(d);
        b.begin[d] = block_begin(n, rank, ranks);
        b.extent[d] = block_begin(n, rank + 1, ranks) - b.begin[d];
    }
    return b;
}

namespace {

// Stores element(index), of type `from`, for all elements that rank r has of n.
template <class F>
void fill(Run &run, const Node &n, int r, const Type &from, F element) {
    Box box = run.box(n, r);
    HostTensor t(n.type, box.begin, box.extent);
    int64_t p = 0;
    for_each_index(t.begin, t.extent, [&](const std::vector<int64_t> &index) {
        t.store(p++, cast_value(element(index), from, n.type));
    });
    run.ranks[size_t(r)].tensors[n.id] = std::move(t);
}

void compute_map(Run &run, const Node &n) {
    Evaluator value(n.value, n.vars);
    for (int r = 0; r < run.count(); r++)
        fill(run, n, r, value.type(), [&](auto &index) { return value(run.ranks[size_t(r)], index); });
}

void compute_reduction(Run &run, const Node &n) {
    for (int r = 0; r < run.count(); r++) {
        Reducer reducer(run, n, r);
        fill(run, n, r, accumulator_type(n.type), [&](auto &index) {
            return n.as<Blocks>() ? reducer.block(index[0])
                   : n.as<Fold>() ? reducer.fold()
                                  : reducer.reduction(index);
        });
    }
}

// The reduction over ranks; dimensions that a rank does not have are not computed there.
void compute_rank_reduction(Run &run, const Node &n, ReduceOp op, const Type &accumulator) {
    Evaluator value(n.value, n.vars);
    for (int r = 0; r < run.count(); r++)
        fill(run, n, r, accumulator, [&](auto &index) {
            Value sum;
            for (int k = 0; k < run.count(); k++) {
                Value addend = cast_value(value(run.ranks[size_t(k)], index), value.type(), accumulator);
                sum = k ? combine(op, accumulator, sum, addend) : addend;
            }
            return sum;
        });
}

// The value on the rank that owner(index) names.
template <class F>
void compute_copy(Run &run, const Node &n, F owner) {
    Evaluator value(n.value, n.vars);
    for (int r = 0; r < run.count(); r++)
        fill(run, n, r, value.type(),
             [&](auto &index) { return value(run.ranks.at(size_t(owner(index))), index); });
}

}  // namespace

void compute(Run &run, const Node &n) {
    if (n.as<Map>()) return compute_map(run, n);
    if (n.as<Reduction>() || n.as<Blocks>() || n.as<Fold>()) return compute_reduction(run, n);
    if (auto *a = n.as<AllReduce>()) return compute_rank_reduction(run, n, a->op, a->accumulator);
    if (auto *s = n.as<ReduceScatter>()) return compute_rank_reduction(run, n, s->op, s->accumulator);
    if (auto *g = n.as<AllGather>()) {
        int64_t whole = run.extent(n.dims.at(size_t(g->dim)));
        return compute_copy(run, n, [&, d = size_t(g->dim)](auto &index) {
            int k = 0;
            while (index[d] >= block_begin(whole, k + 1, run.count())) k++;
            return k;
        });
    }
    if (auto *b = n.as<Broadcast>()) {
        if (b->root >= run.count())
            throw Error("reference: " + n.name + " is a broadcast from rank " +
                        std::to_string(b->root) + " of " + std::to_string(run.count()));
        return compute_copy(run, n, [&](auto &) { return b->root; });
    }
    throw Error("reference: no definition of node " + n.name);
}

}  // namespace stretto::interpreter
