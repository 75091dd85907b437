// Ranks of all_reduce_perf -t mpi: they exchange messages.
#include <stretto/mpi.h>
#include "all_reduce_rank.h"
#include "apps/perf/mpi_main.h"

int main(int argc, char **argv) {
    return perf::mpi_main(argc, argv, [](const std::string &type) {
        stretto_comm_t *comm = nullptr;
        stretto::check_status(stretto_comm_from_mpi(MPI_COMM_WORLD, &comm));
        return all_reduce_perf::make_rank(stretto::Communicator(comm), type);
    });
}
