// Halide's buffer: from its header where there is one, else as plain structures of the same layout, which Halide's C
// interface fixes. So the runtime builds without Halide.
#pragma once
#include <cstdint>

#if __has_include(<HalideRuntime.h>)
#include <HalideRuntime.h>
#else

extern "C" {

enum {
    halide_type_int = 0,
    halide_type_uint = 1,
    halide_type_float = 2,
    halide_type_handle = 3,
    halide_type_bfloat = 4
};

struct halide_type_t {
    uint8_t code, bits;
    uint16_t lanes;
};

struct halide_dimension_t {
    int32_t min, extent, stride;  // stride in elements
    uint32_t flags;
};

struct halide_device_interface_t;

struct halide_buffer_t {
    uint64_t device;
    const halide_device_interface_t *device_interface;
    uint8_t *host;   // of the element at the mins
    uint64_t flags;  // 1: newer on the host, 2: newer on the device
    halide_type_t type;
    int32_t dimensions;
    halide_dimension_t *dim;  // dim[0] is the last index of a row-major tensor
    void *padding;
};

}  // extern "C"

#endif

static_assert(sizeof(halide_buffer_t) == 56 && sizeof(halide_dimension_t) == 16 && sizeof(halide_type_t) == 4,
              "Halide's layout");
