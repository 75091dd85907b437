#include "lower/kernel_body.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::strict_float;

namespace {

std::vector<Expr> reversed(const std::vector<Expr> &v) { return {v.rbegin(), v.rend()}; }

// Leaves of a body's expression become the kernel's.
class IntoKernel : public IRGraphMutator {
    const std::vector<Expr> &indices;
    const std::function<Expr(int)> &binding;
    const std::function<Expr(int, const Type &)> &scalar;
    const std::function<Expr(int, const std::vector<Expr> &)> &load;
    using IRGraphMutator::visit;

    Expr visit(const Variable *v) override {
        Expr e(v);
        if (int number = bound_number(e); number >= 0) return binding(number);
        if (int loop = loop_number(e); loop >= 0) return indices[size_t(loop)];
        Symbol symbol = symbol_of(e);
        return symbol.kind == Symbol::PlanScalar ? scalar(symbol.number, v->type) : e;
    }
    Expr visit(const Call *c) override {
        Expr e = IRGraphMutator::visit(c);
        const Call *a = as_access(e);
        return a ? load(accessed(a), indices_of(a)) : e;
    }

public:
    IntoKernel(const std::vector<Expr> &indices, const std::function<Expr(int)> &binding,
               const std::function<Expr(int, const Type &)> &scalar,
               const std::function<Expr(int, const std::vector<Expr> &)> &load)
        : indices(indices), binding(binding), scalar(scalar), load(load) {}
};

}  // namespace

bool is_ranks(const Expr &e) { return equal(e, cast(e.type(), ranks_value())); }

// Where a kernel knows the number of ranks it is a constant. A division by that is a multiplication with the reciprocal then,
// the same bits as long as the number is a power of two; a third of the time of a sweep in cache that also has a root and a
// division (tests/performance/fused_step.cpp).
Expr KernelBody::scalar(int number, const Type &t) {
    bool sums = std::any_of(s.body.bindings.begin(), s.body.bindings.end(), [](auto &b) { return b.over == Binding::Ranks; });
    const int ranks = sums && addends.kind == AddendSource::Direct ? addends.ranks : 0;
    if (ranks > 0 && (ranks & (ranks - 1)) == 0 && is_ranks(l.graph.scalars[size_t(s.body.scalars[size_t(number)])]))
        return make_const(t, ranks);
    auto it = scalar_parameters.find(number);
    if (it != scalar_parameters.end()) return it->second;
    scalars.push_back(number);
    return scalar_parameters[number] = scalar_parameter(t, "scalar" + std::to_string(number));
}

const Halide::Parameter &KernelBody::parameter(std::vector<Operand> &made, const char *name, int number, const Type &t,
                                               int dimensions, int slots, int slot) {
    for (auto &m : made)
        if (m.number == number) return m.slots[size_t(slot)];
    made.push_back({number, {}});
    for (int k = 0; k < slots; k++)
        made.back().slots.push_back(buffer_parameter(
            t, dimensions, name + std::to_string(number) + (slots > 1 ? "_" + std::to_string(k) : "")));
    return made.back().slots[size_t(slot)];
}

Expr KernelBody::out_element(int position) const {
    auto ref = here.empty() ? out() : out(reversed(here));
    return outputs == 1 ? Expr(ref) : Expr(ref[position]);
}

std::vector<Expr> KernelBody::elements_read() const {
    std::vector<Expr> v;
    for (auto &e : elements) v.push_back(e.second);
    return v;
}

Expr KernelBody::load_access(int k, const std::vector<Expr> &indices, int slot) {
    const StageAccess &a = s.accesses[size_t(k)];
    // What a sum over ranks loads the sweep has not stored yet.
    if (a.how() == plan::How::Update && addends.kind != AddendSource::OneRank) {
        size_t j = 0;
        while (s.body.stored[j].access != k) j++;
        return elements[int(j)] = out_element(int(j));
    }
    const Buffer &b = l.buffers[size_t(a.buffer)];
    const bool each = a.written < 0 && a.from == plan::From::Each;
    const int slots = each && addends.kind == AddendSource::Direct ? addends.ranks : 1;
    return Call::make(parameter(loads_made, "load", k, b.type, int(b.dims.size()), slots, each ? slot : 0), reversed(indices));
}

Expr KernelBody::expression(const Expr &e, const std::vector<Expr> &indices, int slot) {
    return IntoKernel(
               indices, [&](int number) { return value(number); },
               [&](int number, const Type &t) { return scalar(number, t); },
               [&](int k, const std::vector<Expr> &at) { return load_access(k, at, slot); })
        .mutate(e);
}

Expr KernelBody::compute(int number) {
    const Binding &b = s.body.bindings[size_t(number)];
    if (b.over == Binding::Nothing) return expression(b.value, here);
    if (addends.kind == AddendSource::Chunks) {
        int ordinal = 0;  // among the stage's reductions over ranks
        for (int k = 0; k < number; k++) ordinal += s.body.bindings[size_t(k)].over == Binding::Ranks;
        return Call::make(parameter(sums_made, "sum", ordinal, b.value.type(), s.outputs, 1, 0), reversed(here));
    }
    Expr sum = expression(b.value, here, 0);
    for (int k = 1; k < addends.ranks; k++) sum = combine(b.op, sum, expression(b.value, here, k));
    return sum;
}

Expr KernelBody::value(int number) {
    auto it = value_of.find(number);
    if (it != value_of.end()) return it->second;
    Expr e = compute(number);
    const Type t = e.type();
    // A 16-bit float is bound as the f32 it rounds to: names of 16-bit types do not survive Halide's emulation of them.
    bool narrow = is_float16(t);
    e = strict_float(narrow ? cast(f32, e) : e);
    std::string name = "v" + std::to_string(named.size());
    named.push_back({name, e});
    Expr v = Variable::make(e.type(), name);
    return value_of[number] = narrow ? cast(t, v) : v;
}

Expr KernelBody::finish(const Expr &e) const {
    Expr r = strict_float(e);
    for (auto it = named.rbegin(); it != named.rend(); ++it)
        if (expr_uses_var(r, it->first)) r = Let::make(it->first, it->second, r);
    return r;
}

void KernelBody::append_arguments(KernelArguments &list) const {
    for (int k : scalars) add_scalar(list, scalar_parameters.at(k).type(), "scalar" + std::to_string(k));
    for (auto *made : {&loads_made, &sums_made})
        for (auto &m : *made)
            for (auto &p : m.slots) add_buffer(list, p);
}

std::vector<int> KernelBody::loads() const {
    std::vector<int> v;
    for (auto &m : loads_made) v.push_back(m.number);
    return v;
}

std::vector<int> KernelBody::sums() const {
    std::vector<int> v;
    for (auto &m : sums_made) v.push_back(m.number);
    return v;
}

}  // namespace stretto
