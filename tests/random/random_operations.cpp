#include "tests/random/random_program.h"

namespace stretto {

const std::vector<std::string> &operation_names() {
    static const std::vector<std::string> names = {
        // arguments and results
        "input replicated", "input sliced", "input partial", "input local", "inout", "output", "update",
        "update of a local by a replicated", "type float16", "type bfloat16", "type float32",
        "type float64", "type int8", "type int16", "type int32", "type int64", "type uint8",
        "type uint16", "type uint32", "type uint64",
        // definitions
        "elementwise", "linear in a partial", "partial maximum", "partial(Prod) multiplied",
        "contraction", "all_reduce", "reduce_scatter", "all_gather", "broadcast", "shift", "slice_of",
        "reduction over ranks Sum", "reduction over ranks Prod", "reduction over ranks Max",
        "reduction over ranks Min", "reduction of rows Sum", "reduction of rows Prod",
        "reduction of rows Max", "reduction of rows Min", "full reduction Sum", "full reduction Prod",
        "full reduction Max", "full reduction Min", "full reduction in blocks of another index",
        "norm2",
        // operands
        "broadcast of dimensions", "transposed", "read at another element", "read at an index from another tensor",
        "whole-tensor operator", "shared part", "reduction inside an expression", "sliced full reduction",
        "plan scalar", "add plan scalar", "multiply by plan scalar", "index as a value", "rank()",
        "random", "dropout",
        // floats
        "abs", "add", "add constant", "cast float to float and back", "cast float to integer and back",
        "clamp", "divide", "erf", "exp", "floor", "less or equal", "log", "max", "min", "multiply",
        "multiply and add", "multiply by constant", "negate", "not equal", "pow", "remainder", "round",
        "select", "select of two", "sin", "sqrt", "subtract", "tanh",
        // integers
        "bitwise and", "bitwise exclusive or", "bitwise or", "cast integer to float and back",
        "cast integer to integer and back", "integer abs", "integer add", "integer add of two",
        "integer clamp", "integer divide", "integer divide of two", "integer max", "integer min",
        "integer multiply", "integer multiply of two", "integer negate", "integer remainder",
        "integer select", "integer subtract of two", "shift left", "shift right",
        // what a pending sum may be part of
        "partial cast to a narrower integer", "partial cast to a wider float", "partial divided",
        "partial dropout", "partial minus partial", "partial multiplied",
        "partial multiplied by constant", "partial multiplied by plan scalar", "partial negated",
        "partial plus partial", "partial selected"};
    return names;
}

}  // namespace stretto
