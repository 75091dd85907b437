#include "collectives/memory/heap.h"

#include <algorithm>

namespace stretto::runtime {

Heap::Heap(uint64_t capacity, uint64_t origin) : origin_(origin) { add_free(0, capacity / granule * granule); }

uint64_t Heap::allocate(uint64_t bytes, uint64_t align) {
    if (bytes > none - granule) return none;
    bytes = (std::max<uint64_t>(bytes, 1) + granule - 1) / granule * granule;
    align = std::max(align, granule);
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end(); ++it) {
        auto [size, offset] = *it;
        uint64_t begin = ((origin_ + offset + align - 1) & ~(align - 1)) - origin_;
        if (begin < offset || begin - offset > size - bytes) continue;
        remove_free(free_.find(offset));
        if (begin > offset) add_free(offset, begin - offset);
        uint64_t end = begin + bytes;
        if (offset + size > end) add_free(end, offset + size - end);
        blocks_[begin] = bytes;
        used_ += bytes;
        return begin;
    }
    return none;
}

bool Heap::release(uint64_t offset) {
    if (!size(offset)) return false;
    auto [begin, bytes] = grow(offset);
    blocks_.erase(begin);
    used_ -= bytes;
    add_free(begin, bytes);
    return true;
}

std::pair<uint64_t, uint64_t> Heap::grow(uint64_t offset) {
    auto block = blocks_.find(offset);
    uint64_t begin = offset, end = offset + block->second;
    used_ -= block->second;
    blocks_.erase(block);
    auto next = free_.lower_bound(begin);
    if (next != free_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == begin) {
            begin = before->first;
            remove_free(before);
        }
    }
    if (next != free_.end() && next->first == end) {
        end += next->second;
        remove_free(next);
    }
    blocks_[begin] = end - begin;
    used_ += end - begin;
    return {begin, end - begin};
}

void Heap::add_free(uint64_t offset, uint64_t bytes) {
    if (!bytes) return;
    free_[offset] = bytes;
    by_size_.insert({bytes, offset});
}

void Heap::remove_free(Blocks::iterator range) {
    by_size_.erase({range->second, range->first});
    free_.erase(range);
}

}  // namespace stretto::runtime
