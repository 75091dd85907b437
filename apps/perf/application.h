// A program that measures schedules: what it has of its own, and its main.
#pragma once
#include <functional>
#include <memory>

#include <stretto/runtime.hpp>
#include "options.h"
#include "rank.h"

namespace perf {

using MakeRank = std::function<std::unique_ptr<Rank>(stretto::Communicator, const std::string &type)>;

struct Application {
    Choices choices;
    MakeRank make;
    // Bytes that one step has to move, all ranks together.
    std::function<double(int64_t count, const std::string &type, int ranks)> bytes_moved;
    // Programs in this one's folder, "" where they are not built: ranks that exchange messages, and the peer; and the
    // commands that start them.
    std::string mpi_program, peer_program, mpiexec, stretto_run;
};

// Bytes of an element: of float, half and bfloat16.
int64_t element_bytes(const std::string &type);

int main_of(const Application &, int argc, char **argv);

}  // namespace perf
