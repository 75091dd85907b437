// A verb of any kind: what a schedule is a list of.
#pragma once
#include <variant>
#include "schedule/as_slice.h"
#include "schedule/collective.h"
#include "schedule/fuse.h"
#include "schedule/fuse_all.h"
#include "schedule/reorder.h"
#include "schedule/slice.h"
#include "schedule/split.h"
#include "schedule/vectorize.h"

namespace stretto {

using Verb = std::variant<Split, Reorder, Slice, AsSlice, Fuse, FuseAll, Collective, Vectorize>;

// One of each kind, without arguments.
const std::vector<Verb> &all_verbs();
// split, reorder, ...
std::string name_of(const Verb &);

// Throws an Error with the reason alone.
Graph apply(const Graph &, const Verb &);
// split(gsum, 0)
std::string text_of(const Graph &, const Verb &, const Naming & = {});

// The tensors that a verb gives back: what it makes of its subject.
struct Made {
    NodeId of = -1;
    std::vector<Role> roles;
};
Made made_by(const Verb &);

// Throws an Error with this reason and every legal alternative to the verb: searched now, and only now.
[[noreturn]] void refuse(const Graph &, const Verb &, const std::string &why);

}  // namespace stretto
