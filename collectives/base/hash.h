// A 64-bit hash for descriptors, job keys and names; not cryptographic.
#pragma once
#include <cstdint>
#include <cstring>

namespace stretto::runtime {

// Multiply and fold, eight bytes at a time (as in wyhash); the length goes in, so that padding cannot collide. Chain by
// passing the last result as `seed`.
inline uint64_t hash_bytes(const void *data, uint64_t bytes, uint64_t seed = 0) {
    auto mix = [](uint64_t a, uint64_t b) {
        __uint128_t product = __uint128_t(a) * b;
        return uint64_t(product) ^ uint64_t(product >> 64);
    };
    const auto *p = static_cast<const unsigned char *>(data);
    uint64_t h = seed ^ 0xa0761d6478bd642full, left = bytes;
    for (; left >= 8; left -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = mix(h ^ word, 0xe7037ed1a0b428dbull);
    }
    uint64_t tail = 0;
    if (left) memcpy(&tail, p, left);
    return mix(h ^ tail ^ 0x8ebc6af09c88c6e3ull, bytes ^ 0x589965cc75374cc3ull);
}

}  // namespace stretto::runtime
