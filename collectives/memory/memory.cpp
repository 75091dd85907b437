#include "collectives/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <vector>

#include "collectives/base/error.h"

namespace stretto::runtime {

void *no_memory(uint64_t bytes, const std::string &why) {
    set_error(STRETTO_NO_MEMORY, "stretto_malloc: %" PRIu64 " bytes: %s", bytes, why.c_str());
    return nullptr;
}

ThreadMemory::~ThreadMemory() {
    for (auto &block : blocks_)
        if (!kept_.count(block.first)) free(reinterpret_cast<void *>(block.first));
}

void *ThreadMemory::allocate(uint64_t bytes, uint64_t align) {
    if (bytes > UINT64_MAX / 4) return no_memory(bytes, "more than there are addresses");
    bool large = bytes >= huge_page;
    if (large) align = std::max(align, huge_page);
    align = std::max(align, Heap::granule);
    uint64_t rounded = (std::max<uint64_t>(bytes, 1) + align - 1) & ~(align - 1);
    void *data = aligned_alloc(align, rounded);
    if (!data) return no_memory(bytes, "the process has no more memory");
    if (large) madvise(data, rounded, MADV_HUGEPAGE);  // advice: nothing is lost when it is not taken
    std::lock_guard<std::mutex> lock(mutex_);
    blocks_[reinterpret_cast<uintptr_t>(data)] = rounded;
    return data;
}

void ThreadMemory::release(void *data) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!blocks_.erase(reinterpret_cast<uintptr_t>(data)) || kept_.count(reinterpret_cast<uintptr_t>(data))) return;
    }
    free(data);
}

void ThreadMemory::keep(const void *data) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t at = reinterpret_cast<uintptr_t>(data);
    if (!blocks_.contain(at)) return;
    const uint64_t begin = std::prev(blocks_.upper_bound(at))->first;
    kept_.insert(begin);
    // Lost on purpose, which tools that look for lost memory are told by this.
    static std::mutex mutex;
    static auto *all = new std::vector<const void *>;
    std::lock_guard<std::mutex> lock_all(mutex);
    all->push_back(reinterpret_cast<const void *>(begin));
}

uint64_t ThreadMemory::size(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.bytes_at(reinterpret_cast<uintptr_t>(data));
}

bool ThreadMemory::owns(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return blocks_.contain(reinterpret_cast<uintptr_t>(data));
}

}  // namespace stretto::runtime
