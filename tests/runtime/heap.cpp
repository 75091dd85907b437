// The allocator of a process's window: blocks never overlap, neighbours merge, the best fit is
// taken.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "collectives/memory/heap.h"

using stretto::runtime::Heap;

TEST_CASE("heap: random blocks are aligned, apart, and all of it comes back") {
    constexpr uint64_t capacity = 1 << 20;
    Heap heap(capacity);
    std::map<uint64_t, uint64_t> live;
    std::mt19937 random(7);
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        if (random() % 3) {
            uint64_t bytes = random() % (random() % 8 ? 2000 : 60000), align = uint64_t(1)
                                                                               << random() % 13;
            uint64_t at = heap.allocate(bytes, align);
            if (at == Heap::none) {
                refused++;
                continue;
            }
            REQUIRE(at % std::max<uint64_t>(align, 64) == 0);
            uint64_t size = heap.size(at);
            REQUIRE(size >= std::max<uint64_t>(bytes, 1));
            REQUIRE(at + size <= capacity);
            auto next = live.lower_bound(at);
            if (next != live.end()) REQUIRE(at + size <= next->first);
            if (next != live.begin())
                REQUIRE(std::prev(next)->first + std::prev(next)->second <= at);
            live[at] = size;
        } else if (!live.empty()) {
            auto victim = std::next(live.begin(), long(random() % live.size()));
            REQUIRE(heap.contains(victim->first + victim->second - 1));
            REQUIRE(heap.release(victim->first));
            REQUIRE_FALSE(heap.contains(victim->first));
            live.erase(victim);
        }
    }
    CHECK(refused > 0);
    for (auto &block : live) heap.release(block.first);
    CHECK(heap.used() == 0);
    CHECK(heap.allocate(capacity, 64) == 0);  // one piece again
}

TEST_CASE("heap: the smallest gap that fits is taken") {
    Heap heap(4096);
    uint64_t a = heap.allocate(1024, 64), b = heap.allocate(64, 64), c = heap.allocate(256, 64),
             d = heap.allocate(64, 64);
    heap.release(a);
    heap.release(c);
    CHECK(heap.allocate(200, 64) == c);
    CHECK(heap.allocate(1000, 64) == a);
    CHECK(b < d);
}

TEST_CASE("heap: what cannot be") {
    Heap heap(4096);
    CHECK(heap.allocate(4097, 64) == Heap::none);
    CHECK(heap.allocate(UINT64_MAX, 64) == Heap::none);
    CHECK(heap.allocate(UINT64_MAX - 64, 4096) == Heap::none);
    CHECK_FALSE(heap.release(0));
    uint64_t at = heap.allocate(0, 64);
    CHECK(heap.size(at) == 64);
    CHECK(heap.release(at));
    CHECK_FALSE(heap.release(at));  // twice
}
