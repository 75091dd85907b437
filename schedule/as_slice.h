// as_slice(t): the caller passes its slice of an argument instead of the whole.
//
//     m: replicated                            m: sliced(0)
//     m1(i) = f(m(i), t.rs(i))         =>      m1(i) = f(m(i), t.rs(i))
//     m1.ag = all_gather(m1);  m <- m1.ag      m <- m1
//
// The gather of its new value goes. Every later verb checks again that argument and new value agree.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct AsSlice {
    ArgumentId argument = -1;

    static constexpr const char *name = "as_slice";
    static constexpr const char *no_moves =
        "no as_slice yet; first s.split and s.reorder, or s.slice, what reads the argument.";
    template <class V, class F>
    static void fields(V &v, F &f) { f.argument("argument", v.argument); }
    static std::vector<AsSlice> moves(const Graph &);
};

// Legal: t is a replicated Input or InOut tensor; every read of it is of the reader's own element of one slice, the same
// dimension of t everywhere; a new value is that slice, or a gather of it.
Graph apply(const Graph &, const AsSlice &);

}  // namespace stretto
