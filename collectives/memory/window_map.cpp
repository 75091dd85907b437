#include "collectives/memory/window_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cinttypes>
#include <utility>

#include "collectives/base/error.h"

namespace stretto::runtime {
namespace {

constexpr uint64_t huge_page = 2 << 20;

}  // namespace

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

WindowMap::~WindowMap() { drop(); }

void WindowMap::drop() {
    if (base_) munmap(base_, stride_ * uint64_t(ranks_));
    base_ = nullptr;
}

int WindowMap::reserve(int ranks, uint64_t most) {
    drop();
    for (uint64_t stride = most; stride >= smallest_stride; stride /= 2) {
        uint64_t bytes = stride * uint64_t(ranks);
        void *p = mmap(nullptr, bytes + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) continue;
        // Cut to a multiple of a huge page, so that heaps can have such pages.
        char *begin = static_cast<char *>(p);
        uint64_t head = (huge_page - (uint64_t(begin) & (huge_page - 1))) & (huge_page - 1);
        if (head) munmap(begin, head);
        if (head < huge_page) munmap(begin + head + bytes, huge_page - head);
        base_ = begin + head;
        stride_ = stride;
        ranks_ = ranks;
        return STRETTO_OK;
    }
    return set_error(STRETTO_NO_MEMORY,
                     "no room for %d heaps of even %" PRIu64 " bytes in this process's addresses (ulimit -v?)", ranks,
                     smallest_stride);
}

int WindowMap::map(int rank, const Fd &file) {
    void *p =
        mmap(base_ + uint64_t(rank) * stride_, stride_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0);
    return p == MAP_FAILED ? set_system_error("mapping a rank's heap") : STRETTO_OK;
}

char *WindowMap::take() { return std::exchange(base_, nullptr); }

}  // namespace stretto::runtime
