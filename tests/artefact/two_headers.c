/* Headers of two libraries in one file, twice, and what they declare: see CMakeLists.txt for the languages. */
#include "adam_default.h"
#include "adam_fused.h"

#include "adam_default.h"
#include "adam_fused.h"

int (*const functions[2])(stretto_comm_t *, struct halide_buffer_t *, struct halide_buffer_t *, struct halide_buffer_t *,
                          struct halide_buffer_t *, double, double, double, double, int64_t) = {adam_default, adam_fused};
