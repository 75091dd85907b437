// From a call's arguments to sizes and buffers: every check of what a caller passed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/execute/geometry.h"
#include "collectives/plan/plan_generated.h"

namespace stretto::runtime {

// What the arguments look like, without their addresses and without scalars that are no size. Two calls with the same
// shape need the same preparation.
using Shape = std::vector<int64_t>;

// These throw Refusal; the text names the argument, what it is, and what is required.

// Reads the shape, after checking that each argument is there and is a buffer of the right type and number of dimensions.
void read_shape(const plan::PlanT &plan, void **argv, Shape *shape);

// The sizes' values, and the geometry of each tensor argument (by argument; empty for scalars), after checking extents,
// mins and strides. `argv` has passed read_shape.
void bind_sizes(const plan::PlanT &plan, void **argv, int rank, int ranks, std::vector<int64_t> *sizes,
                std::vector<Geometry> *arguments);

// Checks what may change from call to call with one shape: null data, data that is newer on a device, arguments that
// share memory although one of them is written.
void check_memory(const plan::PlanT &plan, void **argv, const std::vector<Geometry> &arguments);

// The value of an extent.
int64_t value_of(const plan::Extent &extent, const std::vector<int64_t> &sizes, int ranks);

// A scalar argument as text, for messages, and as bits, for comparing ranks.
std::string scalar_text(plan::Type type, const void *value);
uint64_t scalar_bits(plan::Type type, const void *value);

}  // namespace stretto::runtime
