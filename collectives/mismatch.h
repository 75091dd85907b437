// The text for ranks that do not agree on what they call.
#pragma once
#include <string>
#include <vector>

#include "transport.h"

namespace stretto::runtime {

// One descriptor a rank, in rank order, not all with the same hash. Names the first field that
// differs and, for each value, the ranks that have it:
//     ranks differ in size 0 of adam: rank 1 has 409598, ranks 0, 2-3 have 409600
// Every rank builds the same text.
std::string mismatch_text(const std::vector<const Descriptor *> &ranks);

// "rank 2", "ranks 0, 2-3".
std::string rank_list(const std::vector<int> &ranks);

}  // namespace stretto::runtime
