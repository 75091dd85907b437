// What the modes of rank_program share.
#pragma once
#include <stretto/runtime.h>

namespace stretto::test {

extern int rank, ranks;

// "rank R: ..." in one write, so lines of ranks do not mix.
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Says what is wrong; returns the status.
int report(int status);

// Modes, in rank_memory.cpp: 0, or what the process exits with.
int no_memory(stretto_comm_t *, int);
int gulp(stretto_comm_t *, int megabytes);
int memory(stretto_comm_t *, int);

}  // namespace stretto::test
