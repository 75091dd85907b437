// Copies of regions between buffers.
#pragma once
#include "collectives/execute/geometry.h"

namespace stretto::runtime {

enum class Caching {
    Plain,
    Streamed  // stores that bypass the cache: for data that nobody reads before it would have left the cache anyway
};

// The region `box` from one buffer to another; from and to point to the first elements of their geometries, which have the
// same dimensions and element size. After streamed copies call finish_streamed() before anybody is told.
void copy_box(uint8_t *to, const Geometry &to_geometry, const uint8_t *from, const Geometry &from_geometry,
              const Box &box, Caching caching = Caching::Plain);

void copy_streamed(uint8_t *to, const uint8_t *from, uint64_t bytes);
void finish_streamed();

// Does the region lie in one piece? Then a message can be sent from, or received into, the buffer itself.
bool contiguous(const Geometry &g, const Box &box);

}  // namespace stretto::runtime
