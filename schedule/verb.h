// A verb of any kind: what a schedule is a list of.
#pragma once
#include "schedule/as_slice.h"
#include "schedule/collective.h"
#include "schedule/fuse.h"
#include "schedule/fuse_all.h"
#include "schedule/reorder.h"
#include "schedule/slice.h"
#include "schedule/split.h"
#include "schedule/vectorize.h"

namespace stretto {

using Verb = std::variant<Split, Reorder, Slice, Fuse, FuseAll, AsSlice, Collective, Vectorize>;

inline Graph apply(const Graph &g, const Verb &verb) {
    return std::visit([&](auto &v) { return apply(g, v); }, verb);
}
inline std::string to_string(const Graph &before, const Verb &verb, const Naming &name = name_of) {
    return std::visit([&](auto &v) { return to_string(before, v, name); }, verb);
}

}  // namespace stretto
