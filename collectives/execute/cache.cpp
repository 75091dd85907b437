#include "collectives/execute/cache.h"

#include <algorithm>
#include <cstring>

#include "collectives/base/error.h"
#include "collectives/execute/instance.h"
#include "collectives/plan/pack.h"
#include "collectives/plan/signature.h"
#include "collectives/plan/validate.h"

namespace stretto::runtime {
namespace {

constexpr size_t most_programs = 64;  // a test suite that compiles thousands must not keep them all

bool same_bytes(const Program &program, const halide_buffer_t *plan) {
    return program.bytes.size() == uint64_t(plan->dim[0].extent) &&
           !memcmp(program.bytes.data(), plan->host, program.bytes.size());
}

}  // namespace

Program::Program() = default;
Program::~Program() = default;

bool PlanCache::holds(const Program &program, const halide_buffer_t *plan) {
    return plan->host == program.address && plan->dimensions == 1 && plan->dim &&
           program.bytes.size() == uint64_t(plan->dim[0].extent) &&
           !memcmp(program.bytes.data() + program.checksum_at, plan->host + program.checksum_at, sizeof(uint64_t));
}

Program &PlanCache::search(const halide_buffer_t *plan) {
    if (!plan || !plan->host || plan->dimensions != 1 || !plan->dim || plan->dim[0].extent < 0)
        throw Refusal("the plan is not a one-dimensional buffer of bytes", STRETTO_BAD_PLAN);
    // By content where the address is new: two copies of a program share what was prepared for it.
    auto known =
        std::find_if(programs_.begin(), programs_.end(), [&](auto &p) { return same_bytes(*p, plan); });
    if (known == programs_.end()) {
        auto program = std::make_unique<Program>();
        program->bytes.assign(plan->host, plan->host + plan->dim[0].extent);
        std::string broken = plan::validate(program->bytes.data(), program->bytes.size(), &program->plan);
        if (!broken.empty()) throw Refusal("the plan cannot be run: " + broken, STRETTO_BAD_PLAN);
        program->checksum_at = plan::checksum_offset(program->bytes.data());
        if (programs_.size() >= most_programs) programs_.pop_back();
        known = programs_.insert(programs_.end(), std::move(program));
    }
    (*known)->address = plan->host;
    std::rotate(programs_.begin(), known, known + 1);
    return *programs_[0];
}

void PlanCache::check_kernels(Program &program, Dispatch dispatch) {
    if (!dispatch) throw Refusal("the function that calls the kernels is null", STRETTO_BAD_PLAN);
    const auto signatures = plan::signatures(program.plan);
    for (size_t k = 0; k < signatures.size(); k++) {
        if (signatures[k].text.empty() || dispatch(-1 - int(k), nullptr) == plan::hash_of(signatures[k])) continue;
        throw Refusal("the plan cannot be run: kernel: kernel " + std::to_string(k) +
                          " was not compiled for what the plan gives it, " + signatures[k].text,
                      STRETTO_BAD_PLAN);
    }
    program.vouched = dispatch;
}

}  // namespace stretto::runtime
