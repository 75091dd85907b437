#include "collectives/plan/validate.h"

#include "collectives/plan/pack.h"
#include "collectives/plan/rules.h"
#include "flatbuffers/minireflect.h"

namespace stretto::plan {
namespace {

// Walks verified bytes by the schema's own description.
class Walk {
public:
    explicit Walk(const uint8_t *bytes, uint64_t size) : size_(size) {
        table(flatbuffers::GetRoot<flatbuffers::Table>(bytes), PlanTypeTable());
    }
    // FlatBuffers' verifier looks at the alignment of a vector's length, not of its elements.
    bool aligned() const { return aligned_; }
    // Do the bytes hold all that unpacking would copy? Not if a vector or text is part of several tables.
    bool unshared() const { return used_ <= size_; }

private:
    const uint64_t size_;
    uint64_t used_ = 0;
    bool aligned_ = true;

    void table(const flatbuffers::Table *t, const flatbuffers::TypeTable *type) {
        for (size_t i = 0; i < type->num_elems && unshared(); i++) {
            const auto code = type->type_codes[i];
            const auto *field = t->GetAddressOf(flatbuffers::FieldIndexToOffset(flatbuffers::voffset_t(i)));
            if (!field) continue;
            const auto *its = code.sequence_ref >= 0 ? type->type_refs[code.sequence_ref]() : nullptr;
            const auto element = flatbuffers::ElementaryType(code.base_type);
            const bool tables = element == flatbuffers::ET_SEQUENCE && its->st == flatbuffers::ST_TABLE;
            if (code.is_repeating) vector(target(field), element, its, tables);
            else if (element == flatbuffers::ET_STRING) used_ += as<flatbuffers::String>(target(field))->size();
            else if (tables) table(as<flatbuffers::Table>(target(field)), its);
        }
    }

    void vector(const uint8_t *at, flatbuffers::ElementaryType element, const flatbuffers::TypeTable *its, bool tables) {
        const auto *list = as<flatbuffers::VectorOfAny>(at);
        const uint64_t bytes = flatbuffers::InlineSize(element, its);
        used_ += list->size() * bytes;
        aligned_ &= reinterpret_cast<uintptr_t>(list->Data()) % alignment(element, its) == 0;
        for (uint64_t i = 0; tables && i < list->size() && unshared(); i++)
            table(as<flatbuffers::Table>(target(list->Data() + 4 * i)), its);
    }

    // A structure's is its largest field's.
    static uint64_t alignment(flatbuffers::ElementaryType element, const flatbuffers::TypeTable *its) {
        if (element != flatbuffers::ET_SEQUENCE || its->st != flatbuffers::ST_STRUCT)
            return flatbuffers::InlineSize(element, its);
        uint64_t most = 1;
        for (size_t i = 0; i < its->num_elems; i++) {
            const auto code = its->type_codes[i];
            const auto *of_field = code.sequence_ref >= 0 ? its->type_refs[code.sequence_ref]() : nullptr;
            most = std::max(most, alignment(flatbuffers::ElementaryType(code.base_type), of_field));
        }
        return most;
    }

    template <class T>
    static const T *as(const uint8_t *at) { return reinterpret_cast<const T *>(at); }
    static const uint8_t *target(const uint8_t *offset) {
        return offset + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(offset);
    }
};

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
    if (size < 16 || size > max_bytes) {
        return "structure: " + std::to_string(size) + " bytes are no plan; legal are 16 to " + std::to_string(max_bytes);
    }
    if (!PlanBufferHasIdentifier(bytes)) return "identifier: the bytes do not begin as a plan does (STRT)";
    // A table and the offset to it take 8 bytes.
    flatbuffers::Verifier verifier(bytes, size, 16, flatbuffers::uoffset_t(size / 8));
    if (!VerifyPlanBuffer(verifier))
        return "structure: the " + std::to_string(size) + " bytes are truncated or damaged";
    const Plan *root = GetPlan(bytes);
    const Walk walk(bytes, size);
    if (!walk.aligned()) return "structure: a vector is not aligned";
    if (!walk.unshared()) return "structure: tables share vectors or texts, which would take more than the bytes when unpacked";
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
