/* The compiled library on three ranks, from C. */
#include <pthread.h>
#include <stdio.h>
#include <stretto/runtime.h>

#include "sgd_fused.h"

enum { ranks = 3,
       n = 10 };
static int wrong;

static void *rank_main(void *handle) {
    stretto_comm_t *comm = handle;
    float g[n], p[n];
    halide_dimension_t dim = {0, n, 1, 0};
    halide_buffer_t buffers[2] = {{0}};
    int status;
    for (int i = 0; i < n; i++) g[i] = (float)(stretto_comm_rank(comm) + i), p[i] = 100;
    for (int b = 0; b < 2; b++) {
        buffers[b].host = (uint8_t *)(b ? p : g);
        buffers[b].type.code = halide_type_float, buffers[b].type.bits = 32, buffers[b].type.lanes = 1;
        buffers[b].dimensions = 1, buffers[b].dim = &dim;
    }
    status = sgd_fused(comm, &buffers[0], &buffers[1], 0.5f);
    if (status) fprintf(stderr, "%s: %s\n", stretto_status_name(status), stretto_last_error());
    for (int i = 0; i < n; i++)
        if (status || p[i] != 100 - 0.5f * (float)(3 * i + 3)) wrong = 1;
    stretto_comm_free(comm);
    return NULL;
}

int main(void) {
    stretto_comm_t *comms[ranks];
    pthread_t threads[ranks];
    if (stretto_comm_threads(ranks, comms)) return 1;
    for (int r = 0; r < ranks; r++) pthread_create(&threads[r], NULL, rank_main, comms[r]);
    for (int r = 0; r < ranks; r++) pthread_join(threads[r], NULL);
    return wrong;
}
