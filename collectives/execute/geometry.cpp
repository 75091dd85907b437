#include "collectives/execute/geometry.h"

namespace stretto::runtime {

halide_type_t halide_type(plan::Type type) {
    int code = halide_type_float;
    int bits = 8 * plan::bytes_of(type);
    if (type == plan::Type::Bool) code = halide_type_uint, bits = 1;
    else if (type <= plan::Type::Int64) code = halide_type_int;
    else if (type <= plan::Type::UInt64) code = halide_type_uint;
    else if (type == plan::Type::BFloat16) code = halide_type_bfloat;
    halide_type_t t = {};
    t.code = decltype(t.code)(code);
    t.bits = uint8_t(bits);
    t.lanes = 1;
    return t;
}

void View::set_type(plan::Type type) { buffer.type = halide_type(type); }

void View::set_strides(const Geometry &g) {
    buffer.dimensions = g.dims;
    for (int d = 0, j = g.dims - 1; d < g.dims; d++, j--) dim[j].stride = int32_t(g.stride[d]);
}

void View::show(const Geometry &g, uint8_t *host) {
    set_strides(g);
    crop(g, g.box(), host);
}

}  // namespace stretto::runtime
