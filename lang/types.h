// Element types and reductions, and their names in text.
#pragma once
#include <string>
#include <vector>
#include "Halide.h"

namespace stretto {

using Halide::Expr;
using Halide::Type;
using Halide::Var;

inline const Type f16 = Halide::Float(16), bf16 = Halide::BFloat(16), f32 = Halide::Float(32),
                  f64 = Halide::Float(64);
inline const Type i8 = Halide::Int(8), i16 = Halide::Int(16), i32 = Halide::Int(32), i64 = Halide::Int(64);
inline const Type u8 = Halide::UInt(8), u16 = Halide::UInt(16), u32 = Halide::UInt(32), u64 = Halide::UInt(64);

// The types a tensor can have, in the order of the names that errors list.
const std::vector<Type> &tensor_types();

// Their names: "float16, bfloat16, ...".
std::string tensor_type_names();

// "float32", "bfloat16", "int8", "bool": as in `grad_type=float16` on the command line.
std::string type_name(const Type &);
// The C++ spelling inside cast<...>: "float", "int64_t", "float16_t".
std::string cpp_type_name(const Type &);
// Throws an Error that lists all names, the nearest first.
Type parse_type(const std::string &name);

inline bool is_float16(const Type &t) {
    return t.is_float() && t.bits() == 16;
}
// The type in which values of type t are added up: f32 for 16-bit floats, else t.
inline Type accumulator_type(const Type &t) {
    return is_float16(t) ? f32 : t;
}

enum ReduceOp { Sum,
                Prod,
                Max,
                Min };
const char *reduce_op_name(ReduceOp);

// The value that changes nothing: 0, 1, the lowest and the highest value (infinities for floats).
Expr identity_of(ReduceOp, const Type &);

// The known name nearest to `name` by edit distance, "" if none is near.
std::string nearest_name(const std::string &name, const std::vector<std::string> &known);

}  // namespace stretto
