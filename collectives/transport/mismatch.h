// Texts about calls: where a rank is in one, and in what ranks that do not agree differ.
#pragma once
#include <string>
#include <vector>

#include "collectives/transport/transport.h"

namespace stretto::runtime {

// One descriptor a rank, in rank order, not all with the same hash. Names the first field that
// differs and, for each value, the ranks that have it:
//     ranks differ in size n of adam: rank 1 has 409598, ranks 0, 2-3 have 409600
// names: this rank's; those that call one program have the same. programs: where only the program's hash differs, every rank's
// text of it (CallNames::program), of which the first line that differs is told; or empty. Every rank builds the same text.
std::string mismatch_text(const std::vector<const Descriptor *> &ranks, const CallNames *names,
                          const std::vector<std::string> &programs);

// Do they call programs of one name that are not the same?
bool differ_in_program(const std::vector<const Descriptor *> &ranks);

// This rank's text of its program, at most most_program_text bytes.
constexpr size_t most_program_text = 1 << 20;
std::string program_text(const CallNames *names);

// "call 3 (adam)", "call 3 (adam), barrier 1": where in a call a rank is.
std::string place_text(const Descriptor &call, int barriers);

// What a text about ranks needs where they are not all of the world, in order: " (in a communicator of the world's ranks
// 4, 0, 1)"; else empty.
std::string numbering_text(const std::vector<int> &members, int world_ranks);

// "rank 2", "ranks 0, 2-3".
std::string rank_list(const std::vector<int> &ranks);

// 0, 1, ...
std::vector<int> all_ranks(int ranks);

}  // namespace stretto::runtime
