// fuse_all(): as many stages in one sweep as there can be.
//
//     t.rs = reduce_scatter(x, 0)                                     Group 0: t.rs, m1, u, un
//     m1(i) = f(t.rs(i), m(i));  u(i) = g(m1(i), p(i))          =>    (un.blocks.ag and un come with un)
//     un() = norm2(i, u(i));     p1(i) = h(p(i), u(i), un())          and p1, p1.ag in the same Group: a second sweep
//
// In the order of the graph each stage joins the Group of its latest producer where s.fuse would accept it, else that of an
// earlier producer, else it opens one. Groups that are there already stay; what joins nothing stays without a Group.
#pragma once
#include "schedule/fields.h"

namespace stretto {

struct FuseAll {
    static constexpr const char *name = "fuse_all";
    static constexpr const char *no_moves =
        "no fuse_all; s.vectorize asks for different lanes of what would be computed in one stage.";
    template <class V, class F>
    static void fields(V &, F &) {}
    static std::vector<FuseAll> moves(const Graph &);
};

// Legal unless s.vectorize asked for different lanes of what comes into one stage.
Graph apply(const Graph &, const FuseAll &);

}  // namespace stretto
