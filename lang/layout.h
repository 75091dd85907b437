// Where the parts of a tensor are. On each mesh axis a tensor is the same on all ranks, a block of one dimension, an addend
// of a pending reduction, or a value of the rank's own.
#pragma once
#include <map>
#include "lang/types.h"

namespace stretto {

// Mesh axes, in order: the last one varies fastest. Programs without a mesh have one axis, the world.
using Axes = std::vector<int>;
inline constexpr int world_axis = 0;

// What a rank has of a tensor along an axis that slices none of its dimensions and along which ranks differ.
struct Pending {
    enum Kind { Partial,
                Local } kind = Partial;
    ReduceOp op = Sum;  // of Partial
    bool operator==(const Pending &) const;
};

// An axis that is named nowhere: replicated along it.
struct Layout {
    // By dimension the axes that slice it, in order; whole dimensions at the end are left out. Block k of P, k the joint
    // index, is [n*k/P, n*(k+1)/P).
    std::vector<Axes> dims;
    std::map<int, Pending> pending;  // by axis

    bool is_replicated() const {
        return dims.empty() && pending.empty();
    }
    bool is_sliced() const {
        return !dims.empty();
    }
    // On some axis.
    bool is_partial() const {
        return has(Pending::Partial);
    }
    bool is_local() const {
        return has(Pending::Local);
    }
    const Axes &axes_of(size_t dimension) const;
    // The first sliced dimension, -1 if none.
    int first_sliced() const;
    // The pending reduction, of a partial layout.
    ReduceOp op() const;
    bool operator==(const Layout &o) const {
        return dims == o.dims && pending == o.pending;
    }
    bool operator!=(const Layout &o) const {
        return !(*this == o);
    }

private:
    bool has(Pending::Kind) const;
};

// Inline: objects of namespace scope in other files may be declared with them.
inline const Layout replicated, local{{}, {{world_axis, {Pending::Local}}}};
Layout sliced(int dimension);
Layout sliced(int dimension, const Axes &);
Layout partial(ReduceOp);

// As the user writes it: replicated, sliced(0), partial(Sum), local.
std::string to_string(const Layout &);

}  // namespace stretto
