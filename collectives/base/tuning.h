// The numbers of the executor that were measured rather than derived.
#pragma once
#include <cstdint>

namespace stretto::runtime {

// Elements a kernel computes before they are copied to the peers, or summed before a kernel reads them: they should still
// be in the first-level cache. A contraction needs larger pieces, or its panels are packed again and again.
constexpr int64_t chunk_elements = 2048;
constexpr int64_t contraction_chunk_elements = 1 << 18;

// Of a rank's slice, from which on copies to peers bypass the cache: they would leave it before they are read.
constexpr int64_t streamed_elements = 1 << 18;

// Bytes of one message: long enough for the link's full rate, short enough to overlap with computing.
constexpr int64_t message_bytes = 256 << 10;

// Bytes of operands that go with an enter: who is waited for is then read at once, and nobody waits at the end.
constexpr int64_t carried_bytes = 4 << 10;

// The same in a message, with what else it holds: MPI libraries send so much at once (mpi/stretto_mpi.cpp), whole cache lines.
constexpr int64_t carried_message_bytes = 62 * 64;

// Bytes of a message from which on we let MPI libraries fetch it from the sender's memory (one host); before, they copy it on
// its way, which takes a sender and a receiver that share a core fewer turns.
constexpr int64_t fetched_message_bytes = 24 << 10;

// Results that are fetched, up to so many bytes, go from a copy: lines that a peer has fetched and that are still in a cache
// are slow to store to in the next call [a step of 256 KB took 1.3 times as long without, but one of 1 MB 0.8].
constexpr int64_t copied_message_bytes = 128 << 10;

// Bytes of an all-reduce on shared memory that is done in one shot, every rank loading all addends: it is over as soon as
// all have come. Two phases compute less, and alone were faster from 2 KiB on, 1.3 times there and 1.5 times at 4 KiB. Where
// a later stage of the program reads the result they wait once more, and were 1.4 times slower at 4 KiB [2 ranks on 2 cores].
constexpr int64_t one_shot_bytes(bool read_later) { return read_later ? carried_bytes : 1 << 10; }

}  // namespace stretto::runtime
