#include "collectives/memory/window_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <tuple>
#include <vector>

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

// Bytes that are free and have memory behind them, beside each other, from which on that goes back to the host. As in glibc's
// malloc: what is taken and given back all the time stays.
constexpr uint64_t given_back = uint64_t(32) << 20;

constexpr uint64_t take_at_once = uint64_t(64) << 20;
constexpr uint64_t bookkeeping = 64;  // of memory that is taken one part more, for page tables and the like

std::string host_text(uint64_t available, uint64_t others) {
    return "the host has " + std::to_string(available) + " bytes available to this process" +
           (others ? ", of which other ranks are taking " + std::to_string(others) : "");
}

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
        heap_ = Heap(stride_, uint64_t(own_));
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
    uint64_t begin, end;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        begin = heap_.allocate(bytes, align);
        if (begin == Heap::none) {
            const uint64_t available = available_memory();
            return no_memory(bytes, bytes > available ? host_text(available, 0)
                                                      : "the heap of this rank has " + std::to_string(heap_.used()) + " of " +
                                                            std::to_string(stride_) + " bytes in use and no gap of that size");
        }
        end = begin + heap_.size(begin);
    }
    if (populate(begin, end)) return own_ + begin;
    release(own_ + begin);
    return nullptr;
}

// Memory is taken now, where it can be refused: later, a page that is not there is a SIGBUS in some peer. Others may allocate
// meanwhile. A page at the border of two blocks is populated by both, if they are new.
bool WindowMemory::populate(uint64_t begin, uint64_t end) {
    begin = begin / page_bytes() * page_bytes();
    end = std::min((end + page_bytes() - 1) / page_bytes() * page_bytes(), stride_);
    std::vector<Ranges::Range> missing;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        missing = populated_.outside(begin, end);
    }
    for (auto [from, to] : missing) {
        const uint64_t taken = take(from, to);
        std::lock_guard<std::mutex> lock(mutex_);
        if (from < taken) populated_.add(from, taken);
        if (taken < to) return false;
    }
    return true;
}

uint64_t WindowMemory::take(uint64_t begin, uint64_t end) {
    const uint64_t needed = end - begin, others = taking_->fetch_add(needed), available = available_memory();
    const bool enough = others <= available && needed + needed / bookkeeping <= available - others;
    if (!enough) no_memory(needed, host_text(available, others));
    // Piece by piece, as what has been taken is no longer available and must not count twice.
    while (enough && begin < end) {
        const uint64_t to = std::min(begin + take_at_once, end);
        make_huge(begin, to);
        if (!take_pages(own_ + begin, to - begin)) {
            no_memory(needed, "the kernel cannot provide the pages");
            break;
        }
        taking_->fetch_sub(to - begin);
        begin = to;
    }
    taking_->fetch_sub(end - begin);
    return begin;
}

// Puts the whole huge pages of [begin, end) on huge pages, with the beginning of the first one if it is in use already: on
// small pages a step over 16 MB per tensor took a seventh longer. Advice does it where shmem_enabled is "advise"; where that is
// "never", the default, collapsing still works, on pages of which a part is there; many at once, since each call has all cores
// put back what they hold [1 GiB: 0.17 s, one by one 0.22, small pages 0.92]. Where neither does, pages stay small.
void WindowMemory::make_huge(uint64_t begin, uint64_t end) {
    const uint64_t first = begin / huge_page * huge_page, last = end / huge_page * huge_page;
    if (first >= last) return;
    madvise(own_ + first, last - first, MADV_HUGEPAGE);
    for (uint64_t i = std::max(first, (begin + huge_page - 1) / huge_page * huge_page); i < last; i += huge_page)
        if (!take_pages(own_ + i, 1)) return;
    madvise(own_ + first, last - first, MADV_COLLAPSE);
}

// What becomes one large free range is given back to the host, without keeping others from the heap meanwhile.
void WindowMemory::release(void *data) {
    uint64_t begin, end;
    std::vector<Ranges::Range> populated;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!heap_.size(offset(data))) return;
        std::tie(begin, end) = heap_.grow(offset(data));
        end += begin;
        const uint64_t first = (begin + huge_page - 1) / huge_page * huge_page, last = end / huge_page * huge_page;
        if (first < last) populated = populated_.in(first, last);
        uint64_t bytes = 0;
        for (auto [from, to] : populated) bytes += to - from;
        if (bytes < given_back) {
            heap_.release(begin);
            return;
        }
    }
    for (auto [from, to] : populated)
        madvise(own_ + from, to - from, MADV_REMOVE);
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto [from, to] : populated) populated_.remove(from, to);
    heap_.release(begin);
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
