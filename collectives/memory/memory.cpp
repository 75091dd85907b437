#include "collectives/memory/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "collectives/base/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; glibc 2.35
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; glibc 2.37
#endif

namespace stretto::runtime {
namespace {

constexpr uint64_t huge_page = 2 << 20;

void *no_memory(uint64_t bytes, const char *why) {
    set_error(STRETTO_NO_MEMORY, "stretto_malloc: %" PRIu64 " bytes: %s", bytes, why);
    return nullptr;
}

}  // namespace

uint64_t available_memory() {
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file) return UINT64_MAX;
    char line[128];
    uint64_t kilobytes = UINT64_MAX / 1024;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1) break;
    }
    fclose(file);
    return kilobytes * 1024;
}

// ---- threads

ThreadMemory::~ThreadMemory() {
    for (auto &block : blocks_) free(reinterpret_cast<void *>(block.first));
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
        if (!blocks_.erase(reinterpret_cast<uintptr_t>(data))) return;
    }
    free(data);
}

uint64_t ThreadMemory::size(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    auto block = blocks_.find(reinterpret_cast<uintptr_t>(data));
    return block == blocks_.end() ? 0 : block->second;
}

bool ThreadMemory::owns(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    auto block = blocks_.upper_bound(reinterpret_cast<uintptr_t>(data));
    if (block == blocks_.begin()) return false;
    --block;
    return reinterpret_cast<uintptr_t>(data) - block->first < block->second;
}

// ---- processes

WindowMemory::WindowMemory(char *base, uint64_t stride, int rank, int ranks)
    : base_(base), stride_(stride), ranks_(ranks), own_(base + uint64_t(rank) * stride), heap_(stride) {}

WindowMemory::~WindowMemory() { munmap(base_, stride_ * uint64_t(ranks_)); }

void *WindowMemory::allocate(uint64_t bytes, uint64_t align) {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t offset = heap_.allocate(bytes, align);
    if (offset == Heap::none) {
        char why[160];
        snprintf(why, sizeof why,
                 "the heap of this rank has %" PRIu64 " of %" PRIu64 " bytes in use and no gap of that size",
                 heap_.used(), stride_);
        return no_memory(bytes, why);
    }
    if (!populate(offset + heap_.size(offset))) {
        heap_.release(offset);
        return nullptr;
    }
    return own_ + offset;
}

bool take_pages(void *begin, uint64_t bytes) {
    if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));  // an older kernel
    for (uint64_t i = 0; i < bytes; i += page) {
        auto *word = reinterpret_cast<volatile char *>(static_cast<char *>(begin) + i);
        *word = *word;
    }
    return true;
}

// Memory is taken now, where it can be refused: later, a page that is not there is a SIGBUS in some peer.
bool WindowMemory::populate(uint64_t end) {
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    end = std::min((end + page - 1) / page * page, stride_);
    if (end <= populated_) return true;
    uint64_t needed = end - populated_, available = available_memory();
    if (needed > available) {
        char why[160];
        snprintf(why, sizeof why, "the host has %" PRIu64 " bytes available", available);
        return no_memory(needed, why);
    }
    char *begin = own_ + populated_;
    make_huge(populated_, end);
    if (!take_pages(begin, needed)) return no_memory(needed, "the kernel cannot provide the pages");
    populated_ = end;
    return true;
}

// Puts the whole huge pages of [begin, end) on huge pages, with the beginning of the first one if it is in use already: on
// small pages a step over 16 MB per tensor took a seventh longer. Advice does it where shmem_enabled is "advise"; where that is
// "never", the default, collapsing still works, on pages of which a part is there. Where neither does, pages stay small.
void WindowMemory::make_huge(uint64_t begin, uint64_t end) {
    uint64_t first = begin / huge_page * huge_page, last = end / huge_page * huge_page;
    if (first >= last) return;
    madvise(own_ + first, last - first, MADV_HUGEPAGE);
    for (uint64_t i = first; i < last; i += huge_page) {
        if (i >= begin && !take_pages(own_ + i, 1)) return;
        if (madvise(own_ + i, huge_page, MADV_COLLAPSE) != 0 && i >= begin)
            return;  // none to be had, or no such kernel
    }
}

void WindowMemory::release(void *data) {
    std::lock_guard<std::mutex> lock(mutex_);
    heap_.release(uint64_t(static_cast<char *>(data) - own_));
}

uint64_t WindowMemory::size(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return heap_.size(uint64_t(static_cast<const char *>(data) - own_));
}

bool WindowMemory::owns(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return reachable(data, 1) && heap_.contains(uint64_t(static_cast<const char *>(data) - own_));
}

}  // namespace stretto::runtime
