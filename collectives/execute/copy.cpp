#include "collectives/execute/copy.h"

#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stretto::runtime {
namespace {

// The dimensions from which on the region is one piece of memory in g: [result, dims).
int whole_from(const Geometry &g, const Box &box) {
    int64_t run = 1;
    int d = g.dims;
    while (d > 0) {
        int64_t extent = box.hi[d - 1] - box.lo[d - 1];
        if (extent > 1 && g.stride[d - 1] != run) break;
        d--;
        run *= extent;
    }
    return d;
}

#if defined(__x86_64__)
// Both write whole 64-byte lines: a line written in part is read from memory first.
__attribute__((target("avx512f"))) void stream_lines_512(uint8_t *to, const uint8_t *from, uint64_t lines) {
    for (; lines >= 4; lines -= 4, to += 256, from += 256) {
        __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
        __m512i c = _mm512_loadu_si512(from + 128), d = _mm512_loadu_si512(from + 192);
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to), a);
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to + 64), b);
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to + 128), c);
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to + 192), d);
    }
    for (; lines; lines--, to += 64, from += 64)
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to), _mm512_loadu_si512(from));
}

void stream_lines_128(uint8_t *to, const uint8_t *from, uint64_t lines) {
    for (; lines; lines--, to += 64, from += 64) {
        for (int k = 0; k < 64; k += 16) {
            __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + k));
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + k), x);
        }
    }
}

void stream_lines(uint8_t *to, const uint8_t *from, uint64_t lines) {
    static const bool has_512 = __builtin_cpu_supports("avx512f");
    if (has_512) stream_lines_512(to, from, lines);
    else stream_lines_128(to, from, lines);
}
#endif

}  // namespace

void copy_streamed(uint8_t *to, const uint8_t *from, uint64_t bytes) {
#if defined(__x86_64__)
    uint64_t head = -reinterpret_cast<uintptr_t>(to) & 63;
    if (bytes >= head + 64) {
        memcpy(to, from, head);
        uint64_t lines = (bytes - head) / 64;
        stream_lines(to + head, from + head, lines);
        uint64_t done = head + 64 * lines;
        to += done, from += done, bytes -= done;
    }
#endif
    if (bytes) memcpy(to, from, bytes);
}

void finish_streamed() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

bool contiguous(const Geometry &g, const Box &box) { return whole_from(g, box) == 0; }

void copy_box(uint8_t *to, const Geometry &to_geometry, const uint8_t *from, const Geometry &from_geometry,
              const Box &box, Caching caching) {
    if (box.empty()) return;
    to += to_geometry.offset(box);
    from += from_geometry.offset(box);
    const int element = to_geometry.element, to_whole = whole_from(to_geometry, box),
              from_whole = whole_from(from_geometry, box);
    const int outer = to_whole > from_whole ? to_whole : from_whole;
    uint64_t run = uint64_t(element);
    for (int d = outer; d < box.dims; d++) run *= uint64_t(box.hi[d] - box.lo[d]);
    int64_t at[max_dims] = {};
    for (;;) {
        if (caching == Caching::Streamed) copy_streamed(to, from, run);
        else memcpy(to, from, run);
        int d = outer - 1;
        for (; d >= 0; d--) {
            to += to_geometry.stride[d] * element;
            from += from_geometry.stride[d] * element;
            int64_t extent = box.hi[d] - box.lo[d];
            if (++at[d] < extent) break;
            at[d] = 0;
            to -= extent * to_geometry.stride[d] * element;
            from -= extent * from_geometry.stride[d] * element;
        }
        if (d < 0) return;
    }
}

}  // namespace stretto::runtime
