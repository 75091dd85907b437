// The numbers of the executor that were measured rather than derived.
#pragma once
#include <cstdint>

#include "collectives/plan/plan_generated.h"

namespace stretto::runtime {

// Elements a kernel computes before they are copied to the peers, or summed before a kernel reads them: they should still
// be in the first-level cache. A contraction needs larger pieces, or its panels are packed again and again.
constexpr int64_t chunk_elements = 2048;
constexpr int64_t contraction_chunk_elements = 1 << 18;

// Of a rank's slice, from which on copies to peers bypass the cache: they would leave it before they are read.
constexpr int64_t streamed_elements = 1 << 18;

// Bytes of one message: long enough for the link's full rate, short enough to overlap with computing.
constexpr int64_t message_bytes = 256 << 10;

// An all-reduce on shared memory of at most that many bytes is done in one shot: every rank loads all addends. That saves
// the barrier before a stage that reads the result (0.4 us for 2 ranks) but computes `ranks` times as much. With enter and
// leave alone around it the two-phase form was as fast from 256 bytes on, and 1.7 times as fast at 16 KiB [2 and 4 ranks
// on 2 cores that others used too].
constexpr int64_t one_shot_bytes(int ranks) { return ranks <= 4 ? 4 << 10 : 2 << 10; }

}  // namespace stretto::runtime
