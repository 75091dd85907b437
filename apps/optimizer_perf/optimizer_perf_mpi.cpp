// Ranks of optimizer_perf -t mpi: they exchange messages.
#include <stretto/mpi.h>
#include "apps/perf/mpi_main.h"
#include "optimizer_rank.h"

int main(int argc, char **argv) {
    return perf::mpi_main(argc, argv, [](const std::string &type) {
        stretto_comm_t *comm = nullptr;
        stretto::check_status(stretto_comm_from_mpi(MPI_COMM_WORLD, &comm));
        return optimizer_perf::make_rank(stretto::Communicator(comm), type);
    });
}
