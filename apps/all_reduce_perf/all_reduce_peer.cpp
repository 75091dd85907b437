// MPI_Allreduce: `peer` into another buffer, `peer_in_place` into the operand's.
#include <cmath>

#include "apps/perf/mpi_main.h"
#include "apps/perf/mpi_rank.h"
#include "apps/perf/private_memory.h"
#include "serial_sum.h"

namespace {

class AllReducePeer : public perf::MpiRank {
    float *in_ = nullptr, *out_ = nullptr;
    int64_t count_ = 0;
    bool in_place_ = false;

public:
    void allocate(int64_t count) override {
        check_count(count);
        in_ = perf::private_allocate<float>(count);
        out_ = perf::private_allocate<float>(count);
    }

    void select(const std::string &schedule, int64_t count, bool fresh) override {
        in_place_ = schedule == "peer_in_place";
        count_ = count;
        for (int64_t i = 0; fresh && i < count; i++) out_[i] = -1;
    }

    void rewrite() override { perf::fill<perf::Element::Float>(in_, rank(), count_); }

    void step() override {
        if (in_place_) MPI_Allreduce(MPI_IN_PLACE, in_, int(count_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else MPI_Allreduce(in_, out_, int(count_), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }

    // MPI adds in its own order.
    int64_t wrong(int) override {
        int64_t wrong = 0;
        const float *result = in_place_ ? in_ : out_;
        for (int64_t i = 0, stride = perf::check_stride(count_); i < count_; i += stride) {
            float sum = all_reduce_perf::serial_sum(i, ranks());
            wrong += !(std::fabs(sum - result[i]) <= 1e-6f * float(ranks()) * sum);
        }
        return wrong;
    }
};

}  // namespace

int main(int argc, char **argv) {
    return perf::mpi_main(argc, argv, [](const std::string &) { return std::make_unique<AllReducePeer>(); });
}
