/* Ranks of an MPI communicator, on any number of hosts, by messages. A library of its own, since the
 * ABIs of MPIs differ: it is compiled with the MPI that the application uses. */
#ifndef STRETTO_MPI_H
#define STRETTO_MPI_H

/* Not the C++ bindings that MPI 3 removed. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <stretto/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over `mpi`, whose ranks have STRETTO_TIMEOUT seconds to call it, between MPI_Init and
 * MPI_Finalize. The communicator works on a duplicate of its own, so its messages cannot meet the
 * application's. Free it before MPI_Finalize. One thread at a time may use it; more than one in the
 * process need MPI_THREAD_MULTIPLE.
 *
 * MPI cannot take back what it has begun to send: after a call that failed although its arguments were
 * right (a peer late or lost) keep tensors of more than 4 KB until MPI_Finalize, or abort. A peer that
 * is stopped in the middle of a message may still write to them when it goes on: the call then returns
 * STRETTO_PEER_STUCK. Tensors of stretto_malloc, and what the library has itself, it keeps for you: for
 * ever, also after stretto_free and stretto_comm_free. After STRETTO_TIMEOUT here `mpi` is of no use. */
int stretto_comm_from_mpi(MPI_Comm mpi, stretto_comm_t **comm);

#ifdef __cplusplus
}
#endif
#endif
