// Where the parts of a tensor are. On each mesh axis a tensor is the same on all ranks, a block of one dimension, an addend
// of a pending reduction, a value of the rank's own, or on one rank only.
#pragma once
#include "lang/types.h"

namespace stretto {

struct AxisLayout {
    enum Kind { Replicated,
                Sliced,
                Partial,
                Local,
                Rooted } kind = Replicated;
    ReduceOp op = Sum;  // of Partial
    int root = 0;       // of Rooted
    bool operator==(const AxisLayout &) const;
    bool operator!=(const AxisLayout &o) const {
        return !(*this == o);
    }
};

// Programs without a mesh have one axis, the world.
struct Layout {
    std::vector<AxisLayout> axis{AxisLayout{}};  // one a mesh axis
    // For each dimension of the tensor the mesh axes that slice it, in order; dimensions at the end may be left out. Block
    // k of P, k the joint index, is [n*k/P, n*(k+1)/P).
    std::vector<std::vector<int>> slicing;

    AxisLayout::Kind kind(int a = 0) const {
        return axis[a].kind;
    }
    bool is(AxisLayout::Kind k, int a = 0) const {
        return kind(a) == k;
    }
    bool is_replicated() const {
        return is(AxisLayout::Replicated);
    }
    bool is_sliced() const {
        return is(AxisLayout::Sliced);
    }
    bool is_partial() const {
        return is(AxisLayout::Partial);
    }
    bool is_local() const {
        return is(AxisLayout::Local);
    }
    // The dimension that axis a slices, -1 if none.
    int sliced_dimension(int a = 0) const;
    ReduceOp op(int a = 0) const {
        return axis[a].op;
    }
    bool operator==(const Layout &) const;
    bool operator!=(const Layout &o) const {
        return !(*this == o);
    }
};

// Inline: objects of namespace scope in other files may be declared with them.
inline const Layout replicated, local{{AxisLayout{AxisLayout::Local}}, {}};
Layout sliced(int dimension);
Layout partial(ReduceOp);

// As the user writes it: replicated, sliced(0), partial(Sum), local.
std::string to_string(const Layout &);

}  // namespace stretto
