// Times an optimizer step over data-parallel gradients, by schedule, beside what users have today. See README.md.
#include "apps/perf/application.h"
#include "optimizer_rank.h"

// Every rank's gradient, the moments read and written once, the parameters read once and written to every rank.
static double bytes_moved(int64_t count, const std::string &type, int ranks) {
    return double(count) * (double(ranks * perf::element_bytes(type)) + 16 + 4 + 4 * ranks);
}

int main(int argc, char **argv) {
    perf::Application app;
    app.choices.name = "optimizer_perf";
    app.choices.description = "Adam: sum the gradients of all ranks, update the moments and the parameters";
    app.choices.begin = "4K";
    app.choices.end = "256M";
    app.choices.types = {"float", "half", "bfloat16"};
    app.choices.schedules = {"default", "on_slices", "fused", "peer"};
    app.make = optimizer_perf::make_rank;
    app.bytes_moved = bytes_moved;
    app.stretto_run = STRETTO_RUN;
#ifdef STRETTO_MPIEXEC
    app.mpi_program = "optimizer_perf_mpi";
    app.peer_program = "optimizer_peer";
    app.mpiexec = STRETTO_MPIEXEC;
#endif
    return perf::main_of(app, argc, argv);
}
