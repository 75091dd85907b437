/* Lesson 5, second half: the compiled library in a C program. It links momentum_fused.a, the runtime and Halide's run-time
 * support; nothing here knows of the compiler.
 *
 *     lesson_05_use                              three ranks, as threads of this process
 *     stretto_run -n 3 lesson_05_use             three ranks, as processes that share memory
 *     mpirun -n 3 lesson_05_use                  the same, started by Open MPI
 *
 * Each way the result is compared with a serial loop, bit for bit, and rank 0 prints a hash of it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stretto/runtime.h>

#include "momentum_fused.h"

enum { N = 100003,
       STEPS = 5 };

static float gradient(int rank, int step, int64_t k) {
    return (float)((k * 7 + rank * 13 + step * 5) % 101) / 7 - 6;
}
static float initial(int64_t k) {
    return (float)(k % 10) - 4.5f;
}

/* count elements, of which the first is element `begin` of the tensor. */
static halide_buffer_t vector_of(float *data, int64_t begin, int64_t count, halide_dimension_t *dim) {
    halide_buffer_t b = {0};
    dim->min = (int32_t)begin;
    dim->extent = (int32_t)count;
    dim->stride = 1;
    dim->flags = 0;
    b.host = (uint8_t *)data;
    b.type.code = halide_type_float;
    b.type.bits = 32;
    b.type.lanes = 1;
    b.dimensions = 1;
    b.dim = dim;
    return b;
}

/* Elements of p that differ from what one rank alone would compute, adding the gradients in rank order. */
static int64_t count_wrong(const float *p, int ranks) {
    int64_t wrong = 0;
    for (int64_t k = 0; k < N; k++) {
        float expected = initial(k), m = 0;
        for (int step = 0; step < STEPS; step++) {
            float sum = gradient(0, step, k);
            for (int r = 1; r < ranks; r++) sum += gradient(r, step, k);
            m = 0.9f * m + sum / (float)ranks;
            expected = expected - 0.01f * m;
        }
        wrong += p[k] != expected;
    }
    return wrong;
}

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, stretto_last_error());
    return 1;
}

/* One rank. Returns 0 if all is well. */
static int run_rank(stretto_comm_t *comm) {
    int rank = stretto_comm_rank(comm), ranks = stretto_comm_ranks(comm);
    int64_t begin, end; /* of this rank's slice of m: the schedule said as_slice(m), and the header says so */
    stretto_slice(N, rank, ranks, &begin, &end);

    /* Memory from the runtime is reached by other ranks without a copy. Other memory works too, more slowly. */
    float *g = stretto_malloc(comm, N * sizeof(float), 0);
    float *p = stretto_malloc(comm, N * sizeof(float), 0);
    float *m = stretto_malloc(comm, (size_t)(end - begin) * sizeof(float), 0);
    if (!g || !p || !m) return failed("stretto_malloc");
    for (int64_t k = 0; k < N; k++) p[k] = initial(k);
    for (int64_t k = 0; k < end - begin; k++) m[k] = 0;

    halide_dimension_t dims[3];
    halide_buffer_t gb = vector_of(g, 0, N, &dims[0]), pb = vector_of(p, 0, N, &dims[1]);
    halide_buffer_t mb = vector_of(m, begin, end - begin, &dims[2]);
    for (int step = 0; step < STEPS; step++) {
        for (int64_t k = 0; k < N; k++) g[k] = gradient(rank, step, k);
        /* Every rank makes the same calls in the same order; the runtime waits where it must, and says so when they differ. */
        if (momentum_fused(comm, &gb, &pb, &mb, 0.01, 0.9)) return failed("momentum_fused");
    }

    int64_t wrong = count_wrong(p, ranks);
    if (rank == 0) {
        uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
        for (size_t k = 0; k < N * sizeof(float); k++) hash = (hash ^ ((const uint8_t *)p)[k]) * 0x100000001b3;
        printf("%d ranks, parameters %016llx\n", ranks, (unsigned long long)hash);
    }
    if (wrong) fprintf(stderr, "rank %d: %lld elements differ from the serial loop\n", rank, (long long)wrong);

    /* A decay of 1 is refused on every rank, by the require() of the program, before any communication. */
    int status = momentum_fused(comm, &gb, &pb, &mb, 0.01, 1.0);
    if (rank == 0) printf("decay 1: %s: %s\n", stretto_status_name(status), stretto_last_error());
    return wrong != 0 || status != STRETTO_REQUIRE;
}

static void *thread_main(void *comm) {
    int bad = run_rank(comm);
    stretto_comm_free(comm);
    return bad ? comm : NULL;
}

static int run_threads(void) {
    enum { RANKS = 3 };
    stretto_comm_t *comms[RANKS];
    pthread_t threads[RANKS];
    if (stretto_comm_threads(RANKS, comms)) return failed("stretto_comm_threads");
    for (int r = 0; r < RANKS; r++)
        if (pthread_create(&threads[r], NULL, thread_main, comms[r])) abort();
    int bad = 0;
    for (int r = 0; r < RANKS; r++) {
        void *result;
        pthread_join(threads[r], &result);
        bad |= result != NULL;
    }
    return bad;
}

int main(void) {
    stretto_comm_t *comm;
    if (stretto_comm_from_env(&comm)) return failed("stretto_comm_from_env");
    if (stretto_comm_ranks(comm) == 1) { /* no launcher */
        stretto_comm_free(comm);
        return run_threads();
    }
    int bad = run_rank(comm);
    stretto_comm_free(comm);
    return bad;
}
