// Ranks that reach each other's memory: where it is, and whether they live.
#pragma once
#include <memory>
#include <vector>

#include "collectives/base/fd.h"
#include "collectives/base/settings.h"
#include "collectives/memory/memory.h"

namespace stretto::runtime {

struct Control;

// One rank's part in a world of ranks that share memory.
struct SharedWorld {
    int rank = 0, ranks = 1;
    std::shared_ptr<Control> control;
    std::shared_ptr<Memory> memory;
    std::vector<Fd> processes;  // a pidfd a rank, by which death is seen; empty for threads
    std::vector<int> pids;      // for texts; as `processes`
    Settings settings;
};

}  // namespace stretto::runtime
