// Divides a range of addresses into blocks: best fit, neighbours merged. It keeps its books outside the range, so a
// stray store of a peer cannot break it. Not thread-safe; touches no memory of the range.
#pragma once
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace stretto::runtime {

// By offset or address: their bytes.
struct Blocks : std::map<uint64_t, uint64_t> {
    // Of the block that begins there, 0 if none does.
    uint64_t bytes_at(uint64_t begin) const {
        auto block = find(begin);
        return block == end() ? 0 : block->second;
    }
    // Is that inside a block?
    bool contain(uint64_t at) const {
        auto block = upper_bound(at);
        return block != begin() && at - std::prev(block)->first < std::prev(block)->second;
    }
};

class Heap {
public:
    static constexpr uint64_t granule = 64;  // a cache line: no two blocks share one
    static constexpr uint64_t none = UINT64_MAX;

    // origin: the address of offset 0, a multiple of the granule.
    explicit Heap(uint64_t capacity, uint64_t origin = 0);
    // Offset of a block of at least `bytes` (0 counts as 1), or none. align: of its address, a power of two.
    uint64_t allocate(uint64_t bytes, uint64_t align);
    // False if no block begins there.
    bool release(uint64_t offset);
    // The block that begins there takes up the free ranges beside it: where it then begins, and its bytes.
    std::pair<uint64_t, uint64_t> grow(uint64_t offset);
    uint64_t size(uint64_t offset) const { return blocks_.bytes_at(offset); }
    bool contains(uint64_t offset) const { return blocks_.contain(offset); }
    uint64_t used() const { return used_; }

private:
    void add_free(uint64_t offset, uint64_t bytes);
    void remove_free(Blocks::iterator);

    Blocks blocks_, free_;
    std::set<std::pair<uint64_t, uint64_t>> by_size_;  // bytes, offset of every free range
    uint64_t origin_, used_ = 0;
};

}  // namespace stretto::runtime
