// Which accesses of one buffer need a wait between them.
#pragma once
#include <cstdint>

#include "collectives/plan/plan_generated.h"

namespace stretto::plan {

// Ways in which ranks touch a buffer, as a set: own or a peer's, read or write, and where: anywhere, or at the slice of one
// dimension of the rank that does it. A rank that loads from or stores to every rank touches its own buffer too.
using Touches = uint64_t;
constexpr int anywhere = -1;

enum class Touch { OwnRead,
                   OwnWrite,
                   PeerRead,
                   PeerWrite };

constexpr Touches touch(Touch kind, int slice) { return Touches(1) << (int(kind) + 4 * (slice + 1)); }

// What an access touches, at the slice of dimension `slice` or anywhere.
inline Touches touches_of(From from, How how, int slice) {
    Touches t = 0;
    if (how != How::Write) t |= touch(from != From::Own && how == How::Read ? Touch::PeerRead : Touch::OwnRead, slice);
    if (how != How::Read) t |= touch(Touch::OwnWrite, slice);
    if (how != How::Read && from != From::Own) t |= touch(Touch::PeerWrite, slice);
    return t;
}

// Those of `before` that clash with one of `after`: one writes, one is a peer's, and two ranks may be at one element. Slices of
// one dimension have none in common.
inline Touches clashing(Touches before, Touches after) {
    Touches found = 0;
    for (Touches rest = before; rest; rest &= rest - 1)
        for (Touches others = after; others; others &= others - 1) {
            const int b = __builtin_ctzll(rest), a = __builtin_ctzll(others);
            const auto writes = [](int bit) { return Touch(bit % 4) == Touch::OwnWrite || Touch(bit % 4) == Touch::PeerWrite; };
            const auto peers = [](int bit) { return Touch(bit % 4) == Touch::PeerRead || Touch(bit % 4) == Touch::PeerWrite; };
            const bool apart = b / 4 == a / 4 && b / 4 != anywhere + 1;
            if ((writes(a) || writes(b)) && (peers(a) || peers(b)) && !apart) found |= Touches(1) << b;
        }
    return found;
}

// The dimension at whose slice a stage is with that access, if it is the rank's slice of the buffer's whole extent.
inline int slice_of(const PlanT &p, const StageT &s, const StageAccessT &a) {
    const auto &extents = p.buffers[size_t(a.buffer)]->extents;
    for (size_t d = 0; d < extents.size(); d++) {
        if (a.reach[d] < 0) continue;
        const Loop &loop = s.loops[size_t(a.reach[d])];
        const bool whole = loop.extent().kind() == extents[d].kind() && loop.extent().value() == extents[d].value();
        const bool own_block = loop.range() == Range::Block && s.loops[0].range() == Range::Slice;
        if ((loop.range() == Range::Slice || own_block) && whole) return int(d);
    }
    return anywhere;
}

}  // namespace stretto::plan
