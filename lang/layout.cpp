#include "lang/layout.h"
#include <algorithm>
#include "lang/error.h"

namespace stretto {

bool Pending::operator==(const Pending &o) const {
    return kind == o.kind && (kind != Partial || op == o.op);
}

bool Layout::has(Pending::Kind kind) const {
    return std::any_of(pending.begin(), pending.end(), [=](auto &p) { return p.second.kind == kind; });
}

const Axes &Layout::axes_of(size_t dimension) const {
    static const Axes none;
    return dimension < dims.size() ? dims[dimension] : none;
}

int Layout::first_sliced() const {
    for (size_t d = 0; d < dims.size(); d++)
        if (!dims[d].empty()) return int(d);
    return -1;
}

ReduceOp Layout::op() const {
    for (auto &[axis, p] : pending)
        if (p.kind == Pending::Partial) return p.op;
    return Sum;
}

Layout sliced(int dimension, const Axes &axes) {
    if (dimension < 0)
        throw Error("sliced(" + std::to_string(dimension) + "): dimensions begin at 0.\nLegal: sliced(0), sliced(1), ...");
    Layout l;
    l.dims.resize(size_t(dimension) + 1);
    l.dims[size_t(dimension)] = axes;
    return l;
}

Layout sliced(int dimension) {
    return sliced(dimension, {world_axis});
}

Layout partial(ReduceOp op) {
    return {{}, {{world_axis, {Pending::Partial, op}}}};
}

std::string to_string(const Layout &l) {
    for (auto &[axis, p] : l.pending) {
        if (p.kind == Pending::Local) return "local";
        return std::string("partial(") + reduce_op_name(p.op) + ")";
    }
    return l.is_sliced() ? "sliced(" + std::to_string(l.first_sliced()) + ")" : "replicated";
}

}  // namespace stretto
