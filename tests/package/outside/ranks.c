/* Two ranks in one process, from C, by the installed header and library. */
#include <stdio.h>
#include <stretto/runtime.h>

int main(void) {
    stretto_comm_t *comms[2];
    int64_t begin, end;
    int status = stretto_comm_threads(2, comms);
    if (status != STRETTO_OK) {
        fprintf(stderr, "%s: %s\n", stretto_status_name(status), stretto_last_error());
        return 1;
    }
    for (int r = 0; r < 2; r++) {
        if (stretto_comm_rank(comms[r]) != r || stretto_comm_ranks(comms[r]) != 2) return 1;
    }
    stretto_slice(7, 1, 2, &begin, &end);
    if (begin != 3 || end != 7) return 1;
    for (int r = 0; r < 2; r++) stretto_comm_free(comms[r]);
    return 0;
}
