#include "lang/layout.h"

namespace stretto {

bool AxisLayout::operator==(const AxisLayout &o) const {
    return kind == o.kind && (kind != Partial || op == o.op) && (kind != Rooted || root == o.root);
}

bool Layout::operator==(const Layout &o) const {
    if (axis != o.axis) return false;
    for (size_t a = 0; a < axis.size(); a++)
        if (sliced_dimension(int(a)) != o.sliced_dimension(int(a))) return false;
    return true;
}

int Layout::sliced_dimension(int a) const {
    for (size_t d = 0; d < slicing.size(); d++)
        for (int x : slicing[d])
            if (x == a) return int(d);
    return -1;
}

Layout sliced(int dimension) {
    Layout l;
    l.axis[0].kind = AxisLayout::Sliced;
    l.slicing.resize(dimension < 0 ? 0 : dimension + 1);
    if (dimension >= 0) l.slicing[dimension] = {0};
    return l;
}

Layout partial(ReduceOp op) {
    Layout l;
    l.axis[0] = {AxisLayout::Partial, op};
    return l;
}

std::string to_string(const Layout &l) {
    switch (l.kind()) {
    case AxisLayout::Replicated: return "replicated";
    case AxisLayout::Sliced: return "sliced(" + std::to_string(l.sliced_dimension()) + ")";
    case AxisLayout::Partial: return std::string("partial(") + reduce_op_name(l.op()) + ")";
    case AxisLayout::Local: return "local";
    case AxisLayout::Rooted: return "rooted(" + std::to_string(l.axis[0].root) + ")";
    }
    return "";
}

}  // namespace stretto
