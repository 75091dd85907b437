// The address range in which a process sees the heaps of all ranks.
#pragma once
#include <cstdint>

#include "collectives/base/fd.h"

namespace stretto::runtime {

constexpr uint64_t largest_stride = uint64_t(64) << 30, smallest_stride = uint64_t(16) << 20;

// A sparse file in memory of no size yet, for this user alone, closed on exec.
int make_memory_file(const char *name, Fd *file);

// Gives it its size for ever: a peer can then neither shrink nor grow it under the others.
int fix_size(const Fd &file, uint64_t bytes);

// Reserved addresses, not yet backed by anything; released at the end unless taken.
class WindowMap {
public:
    WindowMap() = default;
    ~WindowMap();
    WindowMap(const WindowMap &) = delete;
    WindowMap &operator=(const WindowMap &) = delete;

    // Reserves ranks * stride addresses for the largest stride, at most `most`, for which there is room.
    int reserve(int ranks, uint64_t most);
    int map(int rank, const Fd &file);
    uint64_t stride() const { return stride_; }
    char *take();  // the caller unmaps it

private:
    void drop();
    char *base_ = nullptr;
    uint64_t stride_ = 0;
    int ranks_ = 0;
};

}  // namespace stretto::runtime
