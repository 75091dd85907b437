// Memory that no other rank touches, of huge pages where it is long enough: all of MPI's, and the state of our optimizers.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace perf {

template <class T>
T *private_allocate(int64_t count) {
    constexpr size_t huge = 2 << 20;
    size_t bytes = size_t(count) * sizeof(T), align = bytes >= huge ? huge : 64;
    bytes = (bytes / align + 1) * align;
    void *data = aligned_alloc(align, bytes);
    if (!data) throw std::bad_alloc();
    if (align == huge) madvise(data, bytes, MADV_HUGEPAGE);
    return static_cast<T *>(data);
}

}  // namespace perf
