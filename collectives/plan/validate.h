// Is this a plan that the runtime can run? Asked once for each plan it loads, before anything of it is used.
#pragma once
#include <cstdint>
#include <string>

#include "collectives/plan/plan_generated.h"

namespace stretto::plan {

constexpr int current_version = 3;

// Elements of a block that are summed by themselves, in the order of the language (lang/order.h).
constexpr int sub_block = 4096;

// What a plan may have at most. They bound what a damaged or hostile plan can make the runtime allocate.
constexpr int max_dimensions = 8;
constexpr int max_entries = 4096;       // of any table: arguments, buffers, scalars, stages, ...
constexpr int max_loads = 1024;         // of one kernel
constexpr int max_text = 4096;          // bytes of any name or text
constexpr int max_long_text = 1 << 22;  // of the schedule and the program
constexpr uint64_t max_bytes = uint64_t(1) << 26;

// "" if the bytes hold a plan that can be run, which is then in *plan; else "RULE: where and what", for instance
// "load: stages[2].kernel.loads[0].buffer is 7, the plan has 5 buffers". Rules of the bytes: structure (FlatBuffers' own
// verification; and what two tables share, which unpacking would copy twice), identifier, version, checksum; then those of
// check(). `bytes` must be aligned to 8 bytes.
std::string validate(const uint8_t *bytes, uint64_t size, PlanT *plan);

// The rules for what the tables say: limit, text, enum, extent, size, argument, buffer, scalar, require, loop,
// access, store, item, order; of the CPU's section kernel, load, sum, direct.
std::string check(const PlanT &plan);

// The number of bytes of one element.
int bytes_of(Type type);

}  // namespace stretto::plan
