// Where stretto_malloc's memory comes from, and how a rank finds its peers'.
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

#include "collectives/memory/heap.h"

namespace stretto::runtime {

constexpr uint64_t huge_page = 2 << 20;

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
    // The block that has this address, if one does, is never given back, also when it is released: somebody may write to it
    // for ever.
    void keep(const void *data);

private:
    mutable std::mutex mutex_;
    Blocks blocks_;            // by address
    std::set<uint64_t> kept_;  // of these, or released
};

// Says that stretto_malloc has no such memory, and is null.
void *no_memory(uint64_t bytes, const std::string &why);

}  // namespace stretto::runtime
