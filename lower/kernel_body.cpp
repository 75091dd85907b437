#include "lower/kernel_body.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::Parameter;
using Halide::strict_float;

// Leaves of a body's expression become the kernel's.
class KernelBody::IntoKernel : public IRGraphMutator {
    KernelBody &body;
    const std::vector<Expr> &indices;
    const int slot;
    using IRGraphMutator::visit;

    Expr visit(const Variable *v) override {
        Expr e(v);
        if (int number = bound_number(e); number >= 0) return body.value(number);
        if (int loop = loop_number(e); loop >= 0) return indices[size_t(loop)];
        Symbol symbol = symbol_of(e);
        return symbol.kind == Symbol::PlanScalar ? body.scalar(symbol.number, v->type) : e;
    }
    Expr visit(const Call *c) override {
        Expr e = IRGraphMutator::visit(c);
        const Call *a = as_access(e);
        return a ? body.load_access(accessed(a), indices_of(a), slot) : e;
    }

public:
    IntoKernel(KernelBody &body, const std::vector<Expr> &indices, int slot) : body(body), indices(indices), slot(slot) {}
};

bool is_ranks(const Expr &e) { return equal(e, cast(e.type(), ranks_value())); }

int vector_width(const Stage &s, const Halide::Target &target, const Type &t, int least_bits) {
    return s.vectorize > 0 ? s.vectorize : target.natural_vector_size(t.bits() < least_bits ? Halide::Int(least_bits) : t);
}

KernelBody::KernelBody(const Lowering &l, const Stage &s, const AddendSource &addends, const std::string &name)
    : l(l), addends(addends), stage(s), out(name), outputs(s.body.stored.size()) {
    for (size_t d = 0; d < s.loops.size(); d++) {
        lo.push_back(add_scalar(arguments, Halide::Int(32), "lo" + std::to_string(d)));
        hi.push_back(add_scalar(arguments, Halide::Int(32), "hi" + std::to_string(d)));
    }
    for (int d = 0; d < s.outputs; d++) vars.push_back(Var(loop_name(d)));
}

Halide::RDom KernelBody::domain(size_t from) const {
    std::vector<Halide::Range> ranges;
    for (size_t d = lo.size(); d-- > from;) ranges.push_back(Halide::Range(lo[d], hi[d] - lo[d]));
    return ranges.empty() ? Halide::RDom() : Halide::RDom(ranges, "r");
}

// Where a kernel knows the number of ranks it is a constant. A division by that is a multiplication with the reciprocal then,
// the same bits as long as the number is a power of two; a third of the time of a sweep in cache that also has a root and a
// division (tests/performance/fused_step.cpp).
Expr KernelBody::scalar(int number, const Type &t) {
    auto &all = stage.body.bindings;
    const bool adds = std::any_of(all.begin(), all.end(), [](auto &b) { return b.over == Binding::Ranks; });
    const int ranks = adds && addends.kind == AddendSource::Direct ? addends.ranks : 0;
    if (ranks > 0 && (ranks & (ranks - 1)) == 0 && is_ranks(l.graph.scalars[size_t(stage.body.scalars[size_t(number)])]))
        return make_const(t, ranks);
    const Parameter &p = parameter(scalars, "scalar", number, Parameter(t, false, 0), 1, 0);
    return Variable::make(t, p.name(), p);
}

const Parameter &KernelBody::parameter(Operands &made, const std::string &name, int number, const Parameter &like, int slots,
                                       int slot) {
    for (auto &m : made)
        if (m.number == number) return m.slots[size_t(slot)];
    made.push_back({number, {}});
    for (int k = 0; k < slots; k++)
        made.back().slots.push_back(Parameter(like.type(), like.is_buffer(), like.dimensions(),
                                              name + std::to_string(number) + (slots > 1 ? "_" + std::to_string(k) : "")));
    return made.back().slots[size_t(slot)];
}

Expr KernelBody::out_element(int position) const {
    auto ref = out(reversed(here));
    return outputs == 1 ? Expr(ref) : Expr(ref[position]);
}

std::vector<Expr> KernelBody::elements_read() const {
    std::vector<Expr> v;
    for (auto &e : elements) v.push_back(e.second);
    return v;
}

Expr KernelBody::load_access(int k, const std::vector<Expr> &indices, int slot) {
    const StageAccess &a = stage.accesses[size_t(k)];
    // What a sum over ranks loads the sweep has not stored yet.
    if (a.how() == plan::How::Update && addends.kind != AddendSource::OneRank) {
        size_t j = 0;
        while (stage.body.stored[j].access != k) j++;
        return elements[int(j)] = out_element(int(j));
    }
    const Buffer &b = l.buffers[size_t(a.buffer)];
    const bool each = a.written < 0 && a.from == plan::From::Each;
    const int slots = each && addends.kind == AddendSource::Direct ? addends.ranks : 1;
    return Call::make(parameter(loads, "load", k, Parameter(b.type, true, int(b.dims.size())), slots, each ? slot : 0),
                      reversed(indices));
}

Expr KernelBody::expression(const Expr &e, const std::vector<Expr> &indices, int slot) {
    return IntoKernel(*this, indices, slot).mutate(e);
}

Expr KernelBody::compute(int number) {
    const Binding &b = stage.body.bindings[size_t(number)];
    if (b.over == Binding::Nothing) return expression(b.value, here);
    if (addends.kind == AddendSource::Chunks) {
        int ordinal = 0;  // among the stage's reductions over ranks
        for (int k = 0; k < number; k++) ordinal += stage.body.bindings[size_t(k)].over == Binding::Ranks;
        const Parameter chunk(b.value.type(), true, stage.outputs);
        return Call::make(parameter(sums, "sum", ordinal, chunk, 1, 0), reversed(here));
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

Expr KernelBody::result(const Expr &reduction) {
    value_of[0] = reduction;
    return finish(value(stage.body.stored[0].binding));
}

std::unique_ptr<plan::KernelT> KernelBody::add_operands() {
    auto k = std::make_unique<plan::KernelT>();
    auto add = [&](const Operands &made, std::vector<int> &numbers) {
        for (auto &m : made) {
            numbers.push_back(m.number);
            arguments.insert(arguments.end(), m.slots.begin(), m.slots.end());
        }
    };
    add(scalars, k->scalars);
    add(loads, k->loads);
    add(sums, k->sums);
    return k;
}

}  // namespace stretto
