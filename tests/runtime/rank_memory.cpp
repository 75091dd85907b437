// Modes of rank_program about stretto_malloc between processes.
#include <sys/mman.h>

#include <cstring>
#include <vector>

#include "rank_program.h"

namespace stretto::test {

int no_memory(stretto_comm_t *c, int) {
    if (stretto_malloc(c, size_t(1) << 35, 0)) say("32 GiB were to be had");
    else say("%s", stretto_last_error());
    if (stretto_malloc(c, size_t(1) << 40, 0)) say("a TiB was to be had");
    else say("%s", stretto_last_error());
    void *p = stretto_malloc(c, 1 << 20, 0);  // refusals leave the heap usable
    if (!p) return 1;
    memset(p, 1, 1 << 20);
    return report(stretto_barrier(c)) ? 1 : 0;
}

// All take so much at once, and keep it until all have tried.
int gulp(stretto_comm_t *c, int megabytes) {
    if (report(stretto_barrier(c))) return 1;
    void *p = stretto_malloc(c, size_t(megabytes) << 20, 0);
    say("%s", p ? "served" : stretto_last_error());
    return report(stretto_barrier(c)) ? 1 : 0;
}

namespace {

size_t pages_in_memory(void *data, size_t bytes) {
    std::vector<unsigned char> pages(bytes / 4096);
    if (mincore(data, bytes, pages.data()) != 0) return 0;
    size_t count = 0;
    for (unsigned char p : pages) count += p & 1;
    return count;
}

}  // namespace

// Alignment, and what goes back to the host.
int memory(stretto_comm_t *c, int) {
    for (size_t align : {64, 4096, 4 << 20, 64 << 20}) {
        stretto_malloc(c, 100, 0);
        void *p = stretto_malloc(c, 1000, align);
        if (!p || uintptr_t(p) % align) say("%p is not aligned to %zu", p, align);
    }
    constexpr size_t large = 64 << 20, small = 8 << 20;
    void *first = stretto_malloc(c, small, 2 << 20), *big = stretto_malloc(c, large, 2 << 20),
         *last = stretto_malloc(c, small, 2 << 20);
    if (!first || !big || !last) return report(STRETTO_NO_MEMORY);
    for (void *p : {first, last}) memset(p, 3, small);
    memset(big, 1, large);
    if (pages_in_memory(big, large) != large / 4096) say("pages are missing");
    stretto_free(c, big);
    if (pages_in_memory(big, large)) say("a large block was kept");
    if (stretto_malloc(c, large, 2 << 20) != big) say("its place was not taken again");
    if (pages_in_memory(big, large) != large / 4096) say("pages are missing the second time");
    // Small ones that become one large range.
    stretto_free(c, big);
    std::vector<void *> blocks;
    for (size_t i = 0; i < large / small; i++) blocks.push_back(stretto_malloc(c, small, 2 << 20));
    for (void *p : blocks) stretto_free(c, p);
    if (pages_in_memory(big, large) > size_t(32 << 20) / 4096) say("blocks that are one range were kept");
    for (void *p : {first, last})
        for (size_t i = 0; i < small; i += 4096)
            if (static_cast<char *>(p)[i] != 3) return say("other memory was lost"), 1;
    say("fine");
    return report(stretto_barrier(c)) ? 1 : 0;
}

}  // namespace stretto::test
