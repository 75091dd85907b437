// What every peer on MPI has: ranks, the barrier, the maximal size of one call.
#pragma once
#include <mpi.h>

#include <climits>
#include <stdexcept>

#include "rank.h"

namespace perf {

class MpiRank : public Rank {
    int rank_ = 0, ranks_ = 1;

public:
    MpiRank() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    }
    int rank() const override { return rank_; }
    int ranks() const override { return ranks_; }
    void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

protected:
    // MPI's counts are ints.
    static void check_count(int64_t count) {
        if (count > INT_MAX) throw std::runtime_error("MPI_Allreduce takes at most 2^31 - 1 elements");
    }
};

}  // namespace perf
