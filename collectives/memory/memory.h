// Where stretto_malloc's memory comes from, and how a rank finds its peers'.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>

#include "collectives/memory/heap.h"

namespace stretto::runtime {

// All functions may be called by several threads at once.
class Memory {
public:
    virtual ~Memory() = default;
    // Null with the text set when there is none. align: a power of two.
    virtual void *allocate(uint64_t bytes, uint64_t align) = 0;
    virtual void release(void *) = 0;
    // Of the live block that begins there, 0 if none does.
    virtual uint64_t size(const void *) const = 0;
    virtual bool owns(const void *) const = 0;
    virtual bool reachable(const void *, uint64_t bytes) const = 0;
    // Peers publish places relative to their own window; a place's address here is window(peer) + that.
    virtual char *window(int peer) const = 0;
};

// For ranks that are threads of one process: any pointer is reachable. One a world.
class ThreadMemory final : public Memory {
public:
    ~ThreadMemory() override;
    void *allocate(uint64_t bytes, uint64_t align) override;
    void release(void *) override;
    uint64_t size(const void *) const override;
    bool owns(const void *) const override;
    bool reachable(const void *, uint64_t) const override { return true; }
    char *window(int) const override { return nullptr; }

private:
    mutable std::mutex mutex_;
    std::map<uintptr_t, uint64_t> blocks_;
};

// For ranks that are processes: one sparse memfd a rank, each mapped by all of them, peers at equal distances.
class WindowMemory final : public Memory {
public:
    // Takes over the mapping of ranks * stride bytes at base, in which every rank's memory is mapped already.
    WindowMemory(char *base, uint64_t stride, int rank, int ranks);
    ~WindowMemory() override;
    void *allocate(uint64_t bytes, uint64_t align) override;
    void release(void *) override;
    uint64_t size(const void *) const override;
    bool owns(const void *) const override;
    bool reachable(const void *data, uint64_t bytes) const override {
        uint64_t begin = uint64_t(static_cast<const char *>(data) - own_);
        return begin < stride_ && bytes <= stride_ - begin;
    }
    char *window(int peer) const override { return base_ + uint64_t(peer) * stride_; }

private:
    bool populate(uint64_t end);
    void make_huge(uint64_t begin, uint64_t end);

    char *const base_;
    const uint64_t stride_;
    const int ranks_;
    char *const own_;
    mutable std::mutex mutex_;
    Heap heap_;
    uint64_t populated_ = 0;  // pages below have memory behind them
};

// Puts memory behind the pages of a mapping, so that a page that is not to be had is an error here and no SIGBUS later. False,
// with errno, when the kernel has none. Contents stay.
bool take_pages(void *begin, uint64_t bytes);

// MemAvailable of /proc/meminfo in bytes; UINT64_MAX if it cannot be read.
uint64_t available_memory();

}  // namespace stretto::runtime
