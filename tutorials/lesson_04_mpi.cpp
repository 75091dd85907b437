// What lesson 4 compares with: MPI_Allreduce of the gradient, then one pass over all parameters.
// Prints the microseconds of a step: the slowest rank's median.
//
//     mpirun -n 2 lesson_04_mpi ELEMENTS STEPS
#include <mpi.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void update(float *__restrict p, float *__restrict m, const float *__restrict g, int64_t n, float scale, float lr) {
    for (int64_t k = 0; k < n; k++) {
        m[k] = 0.9f * m[k] + g[k] * scale;
        p[k] -= lr * m[k];
    }
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int64_t n = argc > 1 ? atoll(argv[1]) : 1 << 20;
    const int steps = argc > 2 ? atoi(argv[2]) : 10;
    std::vector<float> g(n), p(n, 1.0f), m(n, 0.0f);
    std::vector<double> us;
    for (int s = 0; s < steps; s++) {
        for (int64_t k = 0; k < n; k++) g[k] = float((k + rank + s) % 17) - 8;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, g.data(), int(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        update(p.data(), m.data(), g.data(), n, 1.0f / float(ranks), 0.01f);
        us.push_back((MPI_Wtime() - start) * 1e6);
    }
    std::sort(us.begin(), us.end());
    double mine = us[us.size() / 2], slowest = 0;
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%.1f\n", slowest);
    MPI_Finalize();
}
