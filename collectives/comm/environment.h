// Which rank of which job this process is, by what its launcher put into the environment.
#pragma once
#include <string>

namespace stretto::runtime {

struct Launch {
    std::string launcher;  // "stretto_run", "Open MPI", "torchrun", "PMI", "Slurm"; empty: started alone
    int rank = 0, ranks = 1;
    std::string origin;  // for texts: "torchrun: RANK=1, WORLD_SIZE=4"
    std::string job;     // what the launcher makes unique to the job
};

// 0, or STRETTO_INVALID: a variable is missing, no number, out of range, or ranks are on several
// hosts. The text names the variable and its value.
int read_launch(Launch *launch);

}  // namespace stretto::runtime
