// A 64-bit hash for descriptors, job keys and names; not cryptographic.
#pragma once
#include <cstdint>

namespace stretto::runtime {

// Chain by passing the last result as `seed`.
uint64_t hash_bytes(const void *data, uint64_t bytes, uint64_t seed = 0);

}  // namespace stretto::runtime
