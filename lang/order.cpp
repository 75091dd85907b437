#include "lang/order.h"
#include <algorithm>
#include "lang/text.h"

namespace stretto {

namespace {

// Has e one of these indices that `other` lacks?
bool has_of_its_own(const Expr &e, const Expr &other, const Names &indices) {
    Names used = indices_used(e), of_other = indices_used(other);
    return std::any_of(indices.begin(), indices.end(),
                       [&](auto &v) { return contains(used, v) && !contains(of_other, v); });
}

bool is_contraction(const Node &n) {
    auto *product = n.value.as<Halide::Internal::Mul>();
    return n.reduce_op() == Sum && product && has_of_its_own(product->a, product->b, n.vars()) &&
           has_of_its_own(product->b, product->a, n.vars());
}

// Is v the last index of every access that uses it, and in no other of its indices?
bool runs_along_rows(const Expr &e, const std::string &v) {
    bool along = true;
    for_each_access(e, [&](const Halide::Internal::Call *c) {
        auto idx = indices_of(c);
        for (size_t d = 0; d + 1 < idx.size(); d++) along = along && !contains(indices_used(idx[d]), v);
    });
    return along;
}

}  // namespace

Order order_of(const Node &n) {
    if (n.as<Blocks>()) return Order::Lanes;
    if (is_contraction(n)) return Order::Chain;
    return runs_along_rows(n.source, n.rvars().back()) ? Order::Lanes : Order::Columns;
}

}  // namespace stretto
