// What ranks compare as they enter, and what its fields are called.
#include <cstring>

#include "collectives/execute/instance.h"
#include "collectives/plan/print.h"

namespace stretto::runtime {

void describe(const plan::PlanT &p, Instance &in) {
    Descriptor &d = in.descriptor;
    d.program = p.checksum;
    std::vector<plan::Type> types;
    for (auto &size : p.sizes) in.names.sizes.push_back(size->name);
    for (auto &a : p.arguments) {
        if (!a->scalar) continue;
        in.names.scalars.push_back(a->name);
        types.push_back(a->type);
    }
    in.names.value = [types](int i, uint64_t bits) { return scalar_text(types[size_t(i)], &bits); };
    in.names.program = [&p] { return (p.program.empty() ? "" : p.program + "\n") + plan::print(p); };
    d.names = &in.names;
    strncpy(d.name, p.name.c_str(), sizeof d.name - 1);
    d.size_count = int32_t(in.sizes.size());
    for (size_t i = 0; i < in.sizes.size() && i < 8; i++) d.sizes[i] = uint64_t(in.sizes[i]);
    in.hashed = {p.checksum, 0};
    in.hashed.insert(in.hashed.end(), in.sizes.begin(), in.sizes.end());
    d.scalar_count = int32_t(types.size());
    in.hashed.resize(in.hashed.size() + types.size());
}

}  // namespace stretto::runtime
