// Plans that a rank has loaded. A plan is found by its address; that it still has the same size and checksum is compared
// every time, since a JIT may put another plan where an old one was.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/plan/plan_generated.h"

namespace stretto::runtime {

struct Instance;

using Dispatch = int (*)(int kernel, void **argv);

struct Program {
    std::vector<uint8_t> bytes;
    const uint8_t *address = nullptr;  // of the bytes the copy was made from
    uint64_t checksum_at = 0;          // in bytes
    plan::PlanT plan;
    Dispatch vouched = nullptr;                        // the kernels that are known to be the plan's
    std::vector<std::unique_ptr<Instance>> instances;  // the latest first

    Program();
    ~Program();
};

class PlanCache {
public:
    // The program in that buffer. Throws Refusal: no buffer, bytes that are no plan, or kernels that are not the plan's.
    Program &find(const halide_buffer_t *plan, Dispatch dispatch) {
        Program &found = plan && !programs_.empty() && holds(*programs_[0], plan) ? *programs_[0] : search(plan);
        if (found.vouched != dispatch) check_kernels(found, dispatch);
        return found;
    }

private:
    std::vector<std::unique_ptr<Program>> programs_;  // the latest first

    static bool holds(const Program &program, const halide_buffer_t *plan);
    Program &search(const halide_buffer_t *plan);
    static void check_kernels(Program &program, Dispatch dispatch);
};

}  // namespace stretto::runtime
