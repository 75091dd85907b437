// Times the all-reduce alone, by schedule, beside MPI_Allreduce. See README.md.
#include "all_reduce_rank.h"
#include "apps/perf/application.h"

// Every rank's operand read once, every rank's result written once.
static double bytes_moved(int64_t count, const std::string &, int ranks) { return double(count) * 8 * ranks; }

int main(int argc, char **argv) {
    perf::Application app;
    app.choices.name = "all_reduce_perf";
    app.choices.description = "All-reduce: the sum over ranks, on every rank";
    app.choices.begin = "8";
    app.choices.end = "256M";
    app.choices.factor = 8;
    app.choices.types = {"float"};
    app.choices.schedules = {"default", "one_shot", "two_phase", "peer", "peer_in_place"};
    app.make = all_reduce_perf::make_rank;
    app.bytes_moved = bytes_moved;
    app.stretto_run = STRETTO_RUN;
#ifdef STRETTO_MPIEXEC
    app.mpi_program = "all_reduce_perf_mpi";
    app.peer_program = "all_reduce_peer";
    app.mpiexec = STRETTO_MPIEXEC;
#endif
    return perf::main_of(app, argc, argv);
}
