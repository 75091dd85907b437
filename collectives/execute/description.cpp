// What ranks compare as they enter, and what its fields are called.
#include <cstring>

#include "collectives/execute/instance.h"

namespace stretto::runtime {
namespace {

using plan::PlanT;

class PlanNames final : public CallNames {
    const PlanT &plan_;
    std::vector<const plan::ArgumentT *> scalars_;

public:
    explicit PlanNames(const PlanT &plan) : plan_(plan) {
        for (auto &a : plan.arguments)
            if (a->scalar) scalars_.push_back(a.get());
    }
    std::string size(int i) const override { return plan_.sizes[size_t(i)]->name; }
    std::string scalar(int i) const override { return scalars_[size_t(i)]->name; }
    std::string value(int i, uint64_t bits) const override {
        return scalar_text(scalars_[size_t(i)]->type, &bits);
    }
};

}  // namespace

void describe(const PlanT &p, Instance &in) {
    Descriptor &d = in.descriptor;
    d.program = p.checksum;
    in.names = std::make_unique<PlanNames>(p);
    d.names = in.names.get();
    strncpy(d.name, p.name.c_str(), sizeof d.name - 1);
    d.size_count = int32_t(in.sizes.size());
    for (size_t i = 0; i < in.sizes.size() && i < 8; i++) d.sizes[i] = uint64_t(in.sizes[i]);
    in.hashed = {p.checksum, 0};
    in.hashed.insert(in.hashed.end(), in.sizes.begin(), in.sizes.end());
    for (auto &a : p.arguments) d.scalar_count += a->scalar;
    in.hashed.resize(in.hashed.size() + size_t(d.scalar_count));
}

}  // namespace stretto::runtime
