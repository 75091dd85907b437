// What the environment sets for the runtime. Read once, when a communicator is made; a bad value is an error there.
#pragma once
#include <cstdint>

namespace stretto::runtime {

struct Settings {
    double timeout = 300;      // seconds, STRETTO_TIMEOUT: how long a rank waits for a peer
    uint32_t first_epoch = 0;  // STRETTO_TEST_EPOCH: where epoch counters start, for tests of their wrap-around
    uint64_t largest_piece =
        uint64_t(1) << 30;  // bytes of one MPI message, STRETTO_TEST_PIECE: for tests of the cutting
};

// 0, or STRETTO_INVALID with a text that names the variable and its value.
int read_settings(Settings *settings);

// STRETTO_REQUIRE_HEAP=1: arguments that peers cannot reach are refused, not copied. Looked up once a process.
bool heap_required();

}  // namespace stretto::runtime
