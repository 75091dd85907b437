// From nodes to stages: which values are computed together, what that touches, and how.
#pragma once
#include "lower/lowering.h"

namespace stretto {

// The stages of schedule/partition.h, of which the block sums in a sweep are stages of their own that ride in it. They come
// with accesses (reads first, then writes of values that another stage or the caller needs) and bodies; buffers are not known
// yet.
// The one place of lower/ that asks what kind of node this is.
std::vector<Stage> make_stages(const Graph &);

// The stages with a Choice for every all-reduce that may be carried in one shot or in two phases: every rank computes its
// slice of one dimension then, and stores it to all.
std::vector<Item> with_choices(const Graph &, std::vector<Stage>);

}  // namespace stretto
