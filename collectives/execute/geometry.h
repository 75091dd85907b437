// Index arithmetic of the executor: where a rank's part of a tensor lies, regions of it, and the views kernels get.
// Dimensions are row-major here (0 is the outermost); a view has them the other way round, as Halide does.
#pragma once
#include <cstdint>

#include <stretto/runtime.h>
#include "collectives/plan/validate.h"

namespace stretto::runtime {

constexpr int max_dims = plan::max_dimensions;

// Of a buffer, or of a call's scratch: no address space has more, and sums of some thousand are far from 2^64.
constexpr uint64_t most_bytes = uint64_t(1) << 46;

// A region of global indices, [lo, hi) in each dimension. Without dimensions it is one element.
struct Box {
    int dims = 0;
    int64_t lo[max_dims] = {}, hi[max_dims] = {};

    int64_t elements() const {
        int64_t n = 1;
        for (int d = 0; d < dims; d++) n *= hi[d] > lo[d] ? hi[d] - lo[d] : 0;
        return n;
    }
    bool empty() const { return elements() == 0; }
};

// One rank's buffer: global indices [begin, begin + extent), strides in elements.
struct Geometry {
    int dims = 0;
    int element = 1;  // bytes
    int64_t begin[max_dims] = {}, extent[max_dims] = {}, stride[max_dims] = {};

    int64_t elements() const {
        int64_t n = 1;
        for (int d = 0; d < dims; d++) n *= extent[d];
        return n;
    }
    uint64_t bytes() const { return uint64_t(elements()) * uint64_t(element); }
    // Bytes from the first element to the one at box.lo.
    int64_t offset(const Box &box) const {
        int64_t n = 0;
        for (int d = 0; d < dims; d++) n += (box.lo[d] - begin[d]) * stride[d];
        return n * element;
    }
    Box box() const {
        Box b;
        b.dims = dims;
        for (int d = 0; d < dims; d++) b.lo[d] = begin[d], b.hi[d] = begin[d] + extent[d];
        return b;
    }
    bool dense() const {
        int64_t n = 1;
        for (int d = dims; d-- > 0; n *= extent[d])
            if (extent[d] > 1 && stride[d] != n) return false;
        return true;
    }
    // Row-major strides for the extents, which may not have been checked yet: hence unsigned.
    void pack() {
        uint64_t n = 1;
        for (int d = dims; d-- > 0; n *= extent[d] > 1 ? uint64_t(extent[d]) : 1) stride[d] = int64_t(n);
    }
};

// The densely stored copy of a region.
inline Geometry packed(const Box &box, int element) {
    Geometry g;
    g.dims = box.dims;
    g.element = element;
    for (int d = 0; d < box.dims; d++) g.begin[d] = box.lo[d], g.extent[d] = box.hi[d] - box.lo[d];
    g.pack();
    return g;
}

// A buffer as a kernel gets it. Its address must not change: dim points into it.
struct View {
    halide_buffer_t buffer = {};
    halide_dimension_t dim[max_dims] = {};

    View() { buffer.dim = dim; }
    View(const View &) = delete;
    View &operator=(const View &) = delete;

    void set_type(plan::Type type);
    // All of a rank's buffer that begins at `host`.
    void show(const Geometry &g, uint8_t *host);
    // Strides once; then, chunk by chunk, only what changes.
    void set_strides(const Geometry &g);
    void crop(const Geometry &g, const Box &box, uint8_t *host) {
        for (int d = 0, j = g.dims - 1; d < g.dims; d++, j--) {
            dim[j].min = int32_t(box.lo[d]);
            dim[j].extent = int32_t(box.hi[d] - box.lo[d]);
        }
        buffer.host = host + g.offset(box);
    }
};

// Pieces of memory begin at cache lines.
inline uint64_t round_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

halide_type_t halide_type(plan::Type type);

// The block [n*rank/ranks, n*(rank+1)/ranks).
struct Block {
    int64_t begin, end;
};
inline Block block_of(int64_t n, int rank, int ranks) {
    return {int64_t(__int128(n) * rank / ranks), int64_t(__int128(n) * (rank + 1) / ranks)};
}

}  // namespace stretto::runtime
