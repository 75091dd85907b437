#include "collectives/memory/window_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "collectives/base/error.h"
#include "collectives/base/limits.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; glibc 2.35
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; glibc 2.37
#endif

namespace stretto::runtime {
namespace {

uint64_t page_bytes() {
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    return page;
}

}  // namespace

uint64_t largest_stride() {
    uint64_t stride = uint64_t(64) << 30;
    while (stride < 2 * host_memory()) stride *= 2;
    return std::min(stride, largest_file()) / smallest_stride * smallest_stride;
}

int make_memory_file(const char *name, Fd *file) {
    Fd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd.valid()) return set_system_error("memfd_create");
    if (fchmod(fd.get(), 0600) != 0) return set_system_error("fchmod of a memory file");
    *file = std::move(fd);
    return STRETTO_OK;
}

int fix_size(const Fd &file, uint64_t bytes) {
    if (ftruncate(file.get(), off_t(bytes)) != 0) return set_system_error("ftruncate of a memory file");
    if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return set_system_error("sealing a memory file");
    }
    return STRETTO_OK;
}

bool take_pages(void *begin, uint64_t bytes) {
    if (madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;
    for (uint64_t i = 0; i < bytes; i += page_bytes()) {  // an older kernel
        auto *word = reinterpret_cast<volatile char *>(static_cast<char *>(begin) + i);
        *word = *word;
    }
    return true;
}

WindowMemory::~WindowMemory() {
    if (base_) munmap(base_, stride_ * uint64_t(ranks_));
}

int WindowMemory::reserve(uint64_t most) {
    if (base_) munmap(base_, stride_ * uint64_t(ranks_));
    base_ = nullptr;
    if (most < smallest_stride)
        return set_error(STRETTO_NO_MEMORY,
                         "the heap of a rank is a file in memory of at least %" PRIu64 " bytes, and files of %" PRIu64
                         " are allowed (ulimit -f)",
                         smallest_stride, largest_file());
    for (stride_ = most; stride_ >= smallest_stride; stride_ = stride_ / 2 / smallest_stride * smallest_stride) {
        uint64_t bytes = stride_ * uint64_t(ranks_);
        void *p = mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        // Cut to a multiple of a huge page, so that heaps can have such pages.
        char *begin = static_cast<char *>(p);
        uint64_t head = -uint64_t(begin) & (huge_page - 1);
        if (head) munmap(begin, head);
        if (head < huge_page) munmap(begin + head + bytes, huge_page - head);
        base_ = begin + head;
        own_ = window(rank_);
        heap_ = Heap(stride_);
        return STRETTO_OK;
    }
    return set_error(STRETTO_NO_MEMORY,
                     "no room for %d heaps of even %" PRIu64 " bytes in this process's addresses (ulimit -v?)", ranks_,
                     smallest_stride);
}

int WindowMemory::map(int rank, const Fd &file) {
    void *p = mmap(window(rank), stride_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0);
    if (p == MAP_FAILED) return set_system_error("mapping a rank's heap");
    // A dump would read the holes of all ranks' windows, which makes memory of them.
    madvise(p, stride_, MADV_DONTDUMP);
    return STRETTO_OK;
}

void *WindowMemory::allocate(uint64_t bytes, uint64_t align) {
    std::lock_guard<std::mutex> lock(mutex_);
    uint64_t begin = heap_.allocate(bytes, align);
    if (begin == Heap::none)
        return no_memory(bytes, "the heap of this rank has " + std::to_string(heap_.used()) + " of " +
                                    std::to_string(stride_) + " bytes in use and no gap of that size");
    if (populate(begin + heap_.size(begin))) return own_ + begin;
    heap_.release(begin);
    return nullptr;
}

// Memory is taken now, where it can be refused: later, a page that is not there is a SIGBUS in some peer.
bool WindowMemory::populate(uint64_t end) {
    end = std::min((end + page_bytes() - 1) / page_bytes() * page_bytes(), stride_);
    if (end <= populated_) return true;
    uint64_t needed = end - populated_, available = available_memory();
    if (needed > available)
        return no_memory(needed, "the host has " + std::to_string(available) + " bytes available");
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
    heap_.release(offset(data));
}

uint64_t WindowMemory::size(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return heap_.size(offset(data));
}

bool WindowMemory::owns(const void *data) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return reachable(data, 1) && heap_.contains(offset(data));
}

}  // namespace stretto::runtime
