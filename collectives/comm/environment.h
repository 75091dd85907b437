// Which rank of which job this process is, by what its launcher put into the environment.
#pragma once
#include <cstdint>
#include <string>

namespace stretto::runtime {

struct Launch {
    std::string launcher;  // "stretto_run", "Open MPI", "torchrun", "Flux", "PMI", "Slurm"; empty: started alone
    int rank = 0, ranks = 1;
    std::string origin;  // for texts: "torchrun: RANK=1, WORLD_SIZE=4"
    std::string job;     // what the launcher makes unique to the job
};

// 0, or STRETTO_INVALID: a variable is missing, no number, out of range, ranks are on several hosts, or nothing says which
// job they are of. The text names the variable and its value.
int read_launch(Launch *launch);

// Of the socket at which the ranks of a job meet for their communicator of that number. Other users may know it.
std::string public_name(const Launch &launch, unsigned number);

// "stretto-" and 32 hexadecimal digits.
std::string socket_name(const uint64_t token[2]);

}  // namespace stretto::runtime
