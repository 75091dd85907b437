// A plan as bytes: what lower/ puts into an artefact and the runtime loads.
#pragma once
#include <cstdint>
#include <vector>

#include "collectives/plan/plan_generated.h"

namespace stretto::plan {

// The plan serialised, with identifier and checksum. The only way to make bytes that validate() accepts.
std::vector<uint8_t> pack(const PlanT &plan);

// Where in a serialised plan the checksum lies. Needs verified bytes that have the field.
uint64_t checksum_offset(const uint8_t *bytes);

// The checksum of a serialised plan: of all its bytes, those of the field `checksum` taken as 0. Needs verified bytes
// that have the field.
uint64_t checksum_of(const uint8_t *bytes, uint64_t size);

}  // namespace stretto::plan
