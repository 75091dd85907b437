/* Adam from C: three compiled schedules, on ranks as threads, as processes that a launcher started, or over MPI.
 *
 *   adam threads 3 | adam env | adam mpi      steps, and hashes of the result
 *   ... size | scalar | shape | step | beta   ranks that disagree, values that are refused: what every rank is told
 *
 * A line for each rank: "fused n=1009 rank=1: p=HASH m=HASH v=HASH". p is whole on every rank; m and v are hashed where
 * the rank owns them, and the sum of those hashes over ranks is the tensor's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stretto/runtime.h>
#include "adam_default.h"
#include "adam_fused.h"
#include "adam_on_slices.h"
#ifdef WITH_MPI
#include <stretto/mpi.h>
#endif

typedef int (*adam_function)(stretto_comm_t *, struct halide_buffer_t *, struct halide_buffer_t *, struct halide_buffer_t *,
                             struct halide_buffer_t *, double, double, double, double, int64_t);
struct schedule {
    const char *name;
    adam_function call;
    int slices; /* of m and v */
};
static const struct schedule schedules[] = {
    {"default", adam_default, 0}, {"on_slices", adam_on_slices, 1}, {"fused", adam_fused, 1}};
static const int64_t sizes[] = {0, 1, 2, 5, 1009, 70001};
static const char *trouble = "";

/* The value at (tensor, rank, index): distinct, and the same wherever it is computed. In [-1, 1). */
static float value(uint32_t tensor, uint32_t rank, uint32_t i) {
    uint32_t x = i * 2654435761u + rank * 40503u + tensor * 97u + 1u;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    return (float)(x >> 8) / 8388608.0f - 1.0f;
}

static uint64_t hash(const float *data, int64_t begin, int64_t end, int64_t first) {
    uint64_t sum = 0;
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, data + (i - first), 4);
        uint64_t x = ((uint64_t)bits << 32 | (uint32_t)i) * 0x9e3779b97f4a7c15u;
        sum += x ^ x >> 29;
    }
    return sum;
}

static void vector_buffer(struct halide_buffer_t *b, struct halide_dimension_t *d, float *data, int64_t begin, int64_t end) {
    memset(b, 0, sizeof *b);
    d->min = (int32_t)begin, d->extent = (int32_t)(end - begin), d->stride = 1, d->flags = 0;
    b->host = (uint8_t *)data;
    b->type.code = halide_type_float, b->type.bits = 32, b->type.lanes = 1;
    b->dimensions = 1;
    b->dim = d;
}

static int run(stretto_comm_t *comm, const struct schedule *s, int64_t n) {
    int rank = stretto_comm_rank(comm), ranks = stretto_comm_ranks(comm), status = 0;
    struct halide_buffer_t g, p, m, v;
    struct halide_dimension_t dims[4];
    int64_t begin, end;
    stretto_slice(n, rank, ranks, &begin, &end);
    int64_t first = s->slices ? begin : 0, last = s->slices ? end : n;
    if (!strcmp(trouble, "shape") && rank == 0) last = n + 1;
    float *memory = malloc(sizeof(float) * (size_t)(2 * n + 2 * (last - first) + 1)); /* + 1: never of no bytes */
    float *gradient = memory, *parameter = gradient + n, *moment1 = parameter + n, *moment2 = moment1 + (last - first);
    for (int64_t i = 0; i < n; i++) parameter[i] = value(0, 0, (uint32_t)i);
    for (int64_t i = first; i < last; i++) {
        moment1[i - first] = value(1, 0, (uint32_t)i) / 8;
        moment2[i - first] = (value(2, 0, (uint32_t)i) + 1) / 8;
    }
    vector_buffer(&g, &dims[0], gradient, 0, n);
    vector_buffer(&p, &dims[1], parameter, 0, n);
    vector_buffer(&m, &dims[2], moment1, first, last);
    vector_buffer(&v, &dims[3], moment2, first, last);
    double lr = !strcmp(trouble, "scalar") && rank == 1 ? 0.25 : 1e-3, beta1 = !strcmp(trouble, "beta") ? 1 : 0.9;
    for (int64_t step = 1; step <= 3 && !status; step++) {
        for (int64_t i = 0; i < n; i++) gradient[i] = value(9 + (uint32_t)step, (uint32_t)rank, (uint32_t)i);
        status = s->call(comm, &g, &p, &m, &v, lr, beta1, 0.999, 1e-8, strcmp(trouble, "step") ? step : 0);
    }
    if (status)
        printf("rank %d: %s: %s\n", rank, stretto_status_name(status), stretto_last_error());
    else
        printf("%s n=%lld rank=%d: p=%016llx m=%016llx v=%016llx\n", s->name, (long long)n, rank,
               (unsigned long long)hash(parameter, 0, n, 0), (unsigned long long)hash(moment1, begin, end, first),
               (unsigned long long)hash(moment2, begin, end, first));
    fflush(stdout);
    free(memory);
    return status;
}

static void *rank_main(void *handle) {
    stretto_comm_t *comm = handle;
    size_t s, k;
    if (*trouble) {
        int differs = !strcmp(trouble, "size") && stretto_comm_rank(comm) == 1;
        run(comm, &schedules[2], differs ? 11 : 10);
    } else {
        for (s = 0; s < sizeof schedules / sizeof *schedules; s++)
            for (k = 0; k < sizeof sizes / sizeof *sizes; k++)
                if (run(comm, &schedules[s], sizes[k])) k = sizeof sizes;
    }
    stretto_comm_free(comm);
    return NULL;
}

static int failed(int status) {
    if (status) fprintf(stderr, "%s: %s\n", stretto_status_name(status), stretto_last_error());
    return status;
}

int main(int argc, char **argv) {
    stretto_comm_t *comms[64];
    pthread_t ranks[64];
    const char *mode = argc > 1 ? argv[1] : "env";
    int at = 2, r, n;
    if (!strcmp(mode, "threads")) {
        n = argc > 2 ? atoi(argv[at++]) : 1;
        trouble = argc > at ? argv[at] : "";
        if (failed(stretto_comm_threads(n, comms))) return 1;
        for (r = 0; r < n; r++) pthread_create(&ranks[r], NULL, rank_main, comms[r]);
        for (r = 0; r < n; r++) pthread_join(ranks[r], NULL);
        return 0;
    }
    trouble = argc > at ? argv[at] : "";
#ifdef WITH_MPI
    if (!strcmp(mode, "mpi")) {
        MPI_Init(&argc, &argv);
        if (failed(stretto_comm_from_mpi(MPI_COMM_WORLD, comms))) return 1;
        rank_main(comms[0]);
        MPI_Finalize();
        return 0;
    }
#endif
    if (failed(stretto_comm_from_env(comms))) return 1;
    rank_main(comms[0]);
    return 0;
}
