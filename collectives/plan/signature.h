// What a kernel does with its arguments. A kernel trusts them, so the plan's word is compared with the kernel's own: the hash
// of what it was compiled for, which the dispatcher has beside it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/plan/plan_generated.h"

namespace stretto::plan {

// A kernel in the place that it has in a plan.
struct KernelUse {
    const KernelT *kernel;
    const StageT *stage;
    const StageKernelsT *all;       // of the stage
    const PeerSumT *sum = nullptr;  // whose kernel it is
    int ranks = 0;                  // of a direct kernel
    bool to_peers = false;          // a direct kernel that stores to them
};

// Every one but the scalar kernel. Needs sound tables, and stages that have their kernels.
std::vector<KernelUse> kernel_uses(const PlanT &plan);

// For people, and to be compared: "sweep of 1 + 0 loops: float32, 2 x float32[0] -> float32[0] in place, float32[0]": the plan
// scalars, loads and sums, and what is stored; in brackets the loop at whose index each dimension is accessed, -1: at any.
struct Signature {
    std::string text;   // "": the plan has no use for the kernel
    int arguments = 0;  // of the kernel as it is called
};
Signature signature(const PlanT &plan, const KernelUse &use);
// By kernel id, the scalar kernel too. The plan has passed check(): a kernel has one signature wherever it is used.
std::vector<Signature> signatures(const PlanT &plan);

// What dispatch(-1 - kernel, null) returns for a kernel that was compiled for that. Not 0, which one of another version says.
int32_t hash_of(const Signature &signature);

}  // namespace stretto::plan
