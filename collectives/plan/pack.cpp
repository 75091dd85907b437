#include "collectives/plan/pack.h"

#include <cstring>

namespace stretto::plan {
namespace {

// Multiply and fold, eight bytes at a time: every flipped bit changes the result.
uint64_t fold(uint64_t h, uint64_t word) {
    __uint128_t product = __uint128_t(h ^ word ^ 0xa0761d6478bd642full) * 0xe7037ed1a0b428dbull;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

}  // namespace

uint64_t checksum_offset(const uint8_t *bytes) {
    const auto *root = reinterpret_cast<const flatbuffers::Table *>(GetPlan(bytes));
    return uint64_t(root->GetAddressOf(Plan::VT_CHECKSUM) - bytes);
}

uint64_t checksum_of(const uint8_t *bytes, uint64_t size) {
    const uint64_t hole = checksum_offset(bytes);
    uint64_t h = size;
    for (uint64_t at = 0; at < size; at += 8) {
        uint8_t part[8] = {};
        for (uint64_t k = 0; k < 8 && at + k < size; k++)
            if (at + k < hole || at + k >= hole + 8) part[k] = bytes[at + k];
        uint64_t word;
        memcpy(&word, part, 8);
        h = fold(h, word);
    }
    return h ? h : 1;  // 0 is the default, which FlatBuffers does not store
}

std::vector<uint8_t> pack(const PlanT &plan) {
    PlanT sealed(plan);
    sealed.checksum = 1;  // stored, since it is not the default; its value is put in below
    flatbuffers::FlatBufferBuilder builder;
    FinishPlanBuffer(builder, Plan::Pack(builder, &sealed));
    std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    auto *root = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
    root->SetField<uint64_t>(Plan::VT_CHECKSUM, checksum_of(bytes.data(), bytes.size()), 0);
    return bytes;
}

}  // namespace stretto::plan
