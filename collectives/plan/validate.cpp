#include "collectives/plan/validate.h"

#include "collectives/plan/pack.h"
#include "collectives/plan/rules.h"

namespace stretto::plan {
namespace {

// FlatBuffers' verifier looks at the alignment of a vector's length, not of its elements.
template <class T>
bool aligned(const flatbuffers::Vector<const T *> *list) {
    return !list || reinterpret_cast<uintptr_t>(list->Data()) % alignof(T) == 0;
}

bool aligned(const Plan &plan) {
    auto all = [](const auto *tables, const auto &sound) {
        for (size_t i = 0; tables && i < tables->size(); i++)
            if (!sound(*tables->Get(flatbuffers::uoffset_t(i)))) return false;
        return true;
    };
    return aligned(plan.items()) && aligned(plan.choices()) &&
           all(plan.arguments(), [](const Argument &a) { return aligned(a.extents()); }) &&
           all(plan.buffers(), [](const Buffer &b) { return aligned(b.extents()); }) &&
           all(plan.stages(), [](const Stage &s) { return aligned(s.loops()); });
}

}  // namespace

std::string check(const PlanT &plan) {
    try {
        check_tables(plan);
        check_stages(plan);
        check_cpu(plan);
    } catch (const Broken &broken) { return broken.what(); }
    return "";
}

std::string validate(const uint8_t *bytes, uint64_t size, PlanT *plan) {
    if (!bytes) return "structure: there are no bytes";
    if (size < 16 || size > uint64_t(1) << 30)
        return "structure: " + std::to_string(size) + " bytes are no plan";
    if (!PlanBufferHasIdentifier(bytes)) return "identifier: the bytes do not begin as a plan does (STRT)";
    flatbuffers::Verifier verifier(bytes, size, 16, 1 << 20);
    if (!VerifyPlanBuffer(verifier))
        return "structure: the " + std::to_string(size) + " bytes are truncated or damaged";
    const Plan *root = GetPlan(bytes);
    if (!aligned(*root)) return "structure: a vector is not aligned";
    if (root->version() != current_version) {
        return "version: the plan is of version " + std::to_string(root->version()) +
               ", this runtime reads " + std::to_string(current_version);
    }
    if (!root->checksum()) return "checksum: there is none; plans are made by stretto::plan::pack";
    if (root->checksum() != checksum_of(bytes, size))
        return "checksum: the bytes were changed after the plan was made";
    root->UnPackTo(plan);
    return check(*plan);
}

int bytes_of(Type type) {
    switch (type) {
    case Type::Bool:
    case Type::Int8:
    case Type::UInt8: return 1;
    case Type::Int16:
    case Type::UInt16:
    case Type::Float16:
    case Type::BFloat16: return 2;
    case Type::Int32:
    case Type::UInt32:
    case Type::Float32: return 4;
    case Type::Int64:
    case Type::UInt64:
    case Type::Float64: return 8;
    }
    return 0;
}

}  // namespace stretto::plan
