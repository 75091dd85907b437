// main of programs whose ranks are MPI's: they are started with the socket's name and the type, and serve until the end.
#pragma once
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <string>

#include "rank.h"

namespace perf {

// make(type): this process's rank, freed before MPI_Finalize.
template <class Make>
int mpi_main(int argc, char **argv, Make &&make) {
    if (argc != 3) {
        fprintf(stderr, "%s is started by the program beside it\n", argv[0]);
        return 2;
    }
    MPI_Init(&argc, &argv);
    try {
        auto rank = make(std::string(argv[2]));
        serve(*rank, Link(std::string(argv[1])));
    } catch (const std::exception &e) {
        fprintf(stderr, "%s: %s\n", argv[0], e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}

}  // namespace perf
