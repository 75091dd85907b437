// Texts about calls: where a rank is in one, and in what ranks that do not agree differ.
#pragma once
#include <string>
#include <vector>

#include "collectives/transport/transport.h"

namespace stretto::runtime {

// One descriptor a rank, in rank order, not all with the same hash. Names the first field that
// differs and, for each value, the ranks that have it:
//     ranks differ in size n of adam: rank 1 has 409598, ranks 0, 2-3 have 409600
// names: this rank's, or null, and fields are numbered. Every rank builds the same text.
std::string mismatch_text(const std::vector<const Descriptor *> &ranks, const CallNames *names);

// "call 3 (adam)", "call 3 (adam), barrier 1": where in a call a rank is.
std::string place_text(const Descriptor &call, int barriers);

// "rank 2", "ranks 0, 2-3".
std::string rank_list(const std::vector<int> &ranks);

}  // namespace stretto::runtime
