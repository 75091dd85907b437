// Memory of ranks that are processes: one sparse memory file a rank, its heap, each mapped by all of them.
#pragma once
#include <atomic>
#include <string>

#include "collectives/base/fd.h"
#include "collectives/memory/memory.h"
#include "collectives/memory/ranges.h"

namespace stretto::runtime {

constexpr uint64_t smallest_stride = uint64_t(16) << 20;

// Twice the host's memory, so that there are gaps, but no larger file than may be made.
uint64_t largest_stride();

// A sparse file in memory of no size yet, for this user alone, closed on exec.
int make_memory_file(const char *name, Fd *file);

// Gives it its size for ever: a peer can then neither shrink nor grow it under the others.
int fix_size(const Fd &file, uint64_t bytes);

// Puts memory behind the pages of a mapping, so that a page that is not to be had is an error here and no SIGBUS later. False,
// with errno, when the kernel has none. Contents stay.
bool take_pages(void *begin, uint64_t bytes);

// Peers' heaps are at equal distances, `stride` bytes. First they are reserved, then all are mapped.
class WindowMemory final : public Memory {
public:
    WindowMemory(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
    ~WindowMemory() override;
    // Addresses, not yet backed by anything, for the largest stride, at most `most`, for which there is room.
    int reserve(uint64_t most);
    int map(int rank, const Fd &file);
    uint64_t stride() const { return stride_; }
    // Where ranks count what they are about to take together: what one of them finds available is not taken by several.
    void count_in(std::atomic<uint64_t> &taking) { taking_ = &taking; }

    void *allocate(uint64_t bytes, uint64_t align) override;
    void release(void *) override;
    uint64_t size(const void *) const override;
    bool owns(const void *) const override;
    bool reachable(const void *data, uint64_t bytes) const override {
        return offset(data) < stride_ && bytes <= stride_ - offset(data);
    }
    char *window(int peer) const override { return base_ + uint64_t(peer) * stride_; }

private:
    uint64_t offset(const void *data) const { return uint64_t(static_cast<const char *>(data) - own_); }
    bool populate(uint64_t begin, uint64_t end);
    // Up to where it could be had.
    uint64_t take(uint64_t begin, uint64_t end);
    void make_huge(uint64_t begin, uint64_t end);

    const int rank_, ranks_;
    uint64_t stride_ = 0;
    char *base_ = nullptr, *own_ = nullptr;
    mutable std::mutex mutex_;
    Heap heap_{0};
    Ranges populated_;  // pages that have memory behind them
    std::atomic<uint64_t> taken_by_this_{0}, *taking_ = &taken_by_this_;
};

}  // namespace stretto::runtime
