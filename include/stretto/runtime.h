/* The runtime's C interface. Functions return 0 or a stretto_status; the text of the last error of the calling thread is
 * stretto_last_error(). C99 and C++11; nothing here needs Halide. */
#ifndef STRETTO_RUNTIME_H
#define STRETTO_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

/* halide_buffer_t: from Halide's header where that can be included (it is C or C++17), else plain structures of the same
 * layout, which Halide's C interface fixes. */
#if defined(__has_include) && (!defined(__cplusplus) || __cplusplus >= 201703L)
#if __has_include(<HalideRuntime.h>)
#include <HalideRuntime.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HALIDE_HALIDERUNTIME_H
enum {
    halide_type_int = 0,
    halide_type_uint = 1,
    halide_type_float = 2,
    halide_type_handle = 3,
    halide_type_bfloat = 4
};

typedef struct halide_type_t {
    uint8_t code, bits;
    uint16_t lanes; /* 1 */
} halide_type_t;

typedef struct halide_dimension_t {
    int32_t min, extent, stride; /* stride in elements */
    uint32_t flags;
} halide_dimension_t;

struct halide_device_interface_t;

typedef struct halide_buffer_t {
    uint64_t device;
    const struct halide_device_interface_t *device_interface;
    uint8_t *host;  /* of the element at the mins */
    uint64_t flags; /* 1: newer on the host, 2: newer on the device */
    struct halide_type_t type;
    int32_t dimensions;
    halide_dimension_t *dim; /* dim[0] is the last index of a row-major tensor */
    void *padding;
} halide_buffer_t;
#endif

typedef struct stretto_comm_t stretto_comm_t;

typedef enum stretto_status {
    STRETTO_OK = 0,
    STRETTO_INVALID = -1,   /* an argument is wrong: buffer, type, extent, null, overlap, environment */
    STRETTO_MISMATCH = -2,  /* ranks differ in program, size, scalar or order */
    STRETTO_TIMEOUT = -3,   /* a peer did not arrive within STRETTO_TIMEOUT seconds (300) */
    STRETTO_PEER_LOST = -4, /* a peer exited or was killed */
    STRETTO_PEER_STUCK =
        -5,                /* as TIMEOUT, and a peer that entered may still write into this call's buffers: those of
                              stretto_malloc are kept from reuse, others must be kept by the caller */
    STRETTO_BUSY = -6,     /* this rank's communicator is inside another call */
    STRETTO_FORKED = -7,   /* the communicator belongs to the parent process */
    STRETTO_REQUIRE = -8,  /* a require() of the program does not hold */
    STRETTO_BAD_PLAN = -9, /* truncated, corrupted, or of another version */
    STRETTO_NO_MEMORY = -10,
    STRETTO_SYSTEM = -11, /* a system call failed */
    STRETTO_KERNEL = -12  /* a kernel returned an error */
} stretto_status;

/* Text of the last error in the calling thread, "" if none. Valid until the thread's next failing call. */
const char *stretto_last_error(void);
const char *stretto_status_name(int status);

/* ---- Communicators. A communicator handle belongs to one rank and may be used by one thread at a time: a second one gets
 * STRETTO_BUSY. An error that all ranks find alike before anything is stored (a wrong extent on each) leaves everything as it
 * was. After any other error that involves other ranks it is broken for good, and every call returns the first error; free it.
 * A call that waits for peers, one or many, gives up after STRETTO_TIMEOUT seconds (environment; 300, fractions allowed), and
 * takes a second at most, and on MPI a quarter of STRETTO_TIMEOUT, to tell them. Time in which this process was stopped does
 * not count. */

/* n ranks in this process: comms[0..n) receives one handle a rank, each to be used by a thread of its own. */
int stretto_comm_threads(int n, stretto_comm_t **comms);

/* This process as a rank of the job it was started in: stretto_run, torchrun, Open MPI's mpirun, MPICH's mpiexec, srun,
 * flux run, PALS. All ranks must be on one host. Alone (no launcher): one rank. */
int stretto_comm_from_env(stretto_comm_t **comm);

/* As above with the caller's own all-gather: ctx as given; every rank contributes `bytes` at `in`, `out` receives ranks *
 * bytes in rank order; returns 0 on success. Ranks must be on one host. */
typedef int (*stretto_allgather_fn)(void *ctx, const void *in, void *out, size_t bytes);
int stretto_comm_create(int rank, int ranks, stretto_allgather_fn allgather, void *ctx,
                        stretto_comm_t **comm);

/* A communicator of ranks of `parent`, in the order of the list: parent's rank ranks[i] is its rank i. Called by those ranks
 * and by no others, each with the same list. It shares the parent's memory (stretto_malloc of either), and its failure: what
 * breaks one of them breaks every communicator of the same ranks' world. They may be freed in any order. */
int stretto_comm_sub(stretto_comm_t *parent, const int *ranks, int count, stretto_comm_t **comm);

/* Inside a call of another thread, or of one of its kernels, it is freed when that call ends. */
void stretto_comm_free(stretto_comm_t *comm);
int stretto_comm_rank(const stretto_comm_t *comm);
int stretto_comm_ranks(const stretto_comm_t *comm);

/* All ranks wait for each other. */
int stretto_barrier(stretto_comm_t *comm);

/* ---- Memory that peers reach without a copy. Not collective, any thread. align: a power of two, 0 for 64. Null: none, see
 * stretto_last_error(). It lives until stretto_free, or until
 * the last communicator that shares it is freed. Between processes it is taken from the host at once: more than the host, this
 * process's control groups and what other ranks are taking leave is refused. Large parts that are free go back. */
void *stretto_malloc(stretto_comm_t *comm, size_t bytes, size_t align);
void stretto_free(stretto_comm_t *comm, void *data);
int stretto_owns(const stretto_comm_t *comm, const void *data);

/* Rank's block [*begin, *end) of n elements: [n*rank/ranks, n*(rank+1)/ranks). [0, 0) if n is negative or there is no such
 * rank. */
void stretto_slice(int64_t n, int rank, int ranks, int64_t *begin, int64_t *end);

/* ---- Counters of one rank since creation or the last reset. */
typedef struct stretto_stats {
    uint64_t calls, barriers;
    uint64_t bytes_loaded;  /* from peers' memory */
    uint64_t bytes_stored;  /* to peers' memory */
    uint64_t bytes_sent;    /* as messages */
    uint64_t bytes_bounced; /* copied because an argument is not in the heap */
} stretto_stats;
int stretto_get_stats(const stretto_comm_t *comm, stretto_stats *stats);
void stretto_reset_stats(stretto_comm_t *comm);

/* ---- Used by compiled programs. plan: a one-dimensional buffer of the plan's bytes. dispatch: calls kernel number
 * `kernel` with Halide's argv. argv: the function's arguments (halide_buffer_t *, or the address of a scalar). */
int stretto_execute_v1(stretto_comm_t *comm, const struct halide_buffer_t *plan,
                       int (*dispatch)(int kernel, void **argv), void **argv);

#ifdef __cplusplus
}
#endif
#endif
