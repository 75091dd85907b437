// A region cut into chunks of at most so many elements: pieces that stay in a cache between the kernel that makes them
// and the copies to the peers, or that travel as one message while another is computed. Every rank cuts every rank's
// region the same way.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "collectives/execute/geometry.h"

namespace stretto::runtime {

class Chunks {
public:
    Chunks() = default;

    // Inner dimensions stay whole while they fit: a chunk is one piece of memory where the buffer is dense.
    Chunks(const Box &box, int64_t most) : box_(box) {
        int64_t inside = 1;
        for (int d = box.dims; d-- > 0;) {
            int64_t extent = box.hi[d] - box.lo[d];
            if (extent <= 0) {
                count_ = 0;
                return;
            }
            step_[d] = std::max<int64_t>(1, std::min(extent, most / inside));
            // Equal pieces rather than a short last one; of whole cache lines where they are long enough.
            int64_t pieces = (extent + step_[d] - 1) / step_[d];
            step_[d] = (extent + pieces - 1) / pieces;
            if (pieces > 1 && d == box.dims - 1 && step_[d] >= 256) step_[d] = (step_[d] + 63) / 64 * 64;
            pieces_[d] = (extent + step_[d] - 1) / step_[d];
            count_ *= pieces_[d];
            inside = pieces_[d] == 1 ? inside * extent : most;  // once cut, all outer steps are 1
        }
    }

    // For block sums that follow chunk by chunk: each chunk is of one of `blocks` balanced blocks of dimension 0, and is whole
    // sub-blocks of `unit` elements of it, about `most` elements if that can be.
    Chunks(const Box &box, int64_t most, int blocks, int64_t unit) : box_(box), count_(0) {
        int64_t inside = 1;  // elements of a row
        for (int d = 1; d < box.dims; d++) {
            step_[d] = box.hi[d] - box.lo[d];
            inside *= step_[d];
        }
        if (inside == 0) return;
        const int64_t rows = unit / std::gcd(unit, inside);
        step_[0] = rows * std::max<int64_t>(1, most / (rows * inside));
        for (int k = 0; k < blocks; k++) {
            Block block = block_of(box.hi[0] - box.lo[0], k, blocks);
            if (block.begin == block.end) continue;
            blocks_.push_back({box.lo[0] + block.begin, box.lo[0] + block.end, count_});
            count_ += (block.end - block.begin + step_[0] - 1) / step_[0];
        }
    }

    int64_t count() const { return count_; }

    Box at(int64_t chunk) const {
        Box b;
        b.dims = box_.dims;
        if (!blocks_.empty()) {
            size_t k = blocks_.size() - 1;
            while (blocks_[k].first > chunk) k--;
            b = box_;
            b.lo[0] = blocks_[k].begin + (chunk - blocks_[k].first) * step_[0];
            b.hi[0] = std::min(b.lo[0] + step_[0], blocks_[k].end);
            return b;
        }
        for (int d = box_.dims; d-- > 0;) {
            int64_t piece = chunk % pieces_[d];
            chunk /= pieces_[d];
            b.lo[d] = box_.lo[d] + piece * step_[d];
            b.hi[d] = std::min(b.lo[d] + step_[d], box_.hi[d]);
        }
        return b;
    }

    // Elements of the largest chunk.
    int64_t largest() const {
        int64_t n = count_ ? 1 : 0;
        for (int d = 0; d < box_.dims; d++) n *= step_[d];
        return n;
    }

private:
    struct Rows {
        int64_t begin, end, first;  // of a block, and its first chunk
    };
    Box box_;
    std::vector<Rows> blocks_;
    int64_t step_[max_dims] = {}, pieces_[max_dims] = {}, count_ = 1;
};

}  // namespace stretto::runtime
