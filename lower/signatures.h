// Kernels say what they were compiled for (collectives/plan/signature.h), since they trust what a plan has them called with.
#pragma once
#include <string>
#include "collectives/plan/signature.h"
#include "lower/halide_adapter.h"

namespace stretto {

// Makes the NAME_dispatch of link_kernels return, for -1 - k, the hash of what the plan says of kernel k. Throws if that has
// another number of arguments.
void add_signatures(Halide::Module &, const std::string &name, const std::vector<plan::Signature> &);

}  // namespace stretto
