#include "lower/kernel_body.h"
#include <algorithm>
#include "lang/error.h"
#include "lang/expand.h"

namespace stretto {

using namespace Halide::Internal;
using Halide::cast;
using Halide::strict_float;

namespace {

// plan.<k> becomes a parameter, or the number of ranks where a kernel knows it. A division by that is a multiplication with
// the reciprocal then, the same bits as long as the number is a power of two; a third of the time of a sweep in cache that
// also has a root and a division (tests/performance/fused_step.cpp).
class PlanScalars : public IRMutator {
    KernelBody &body;
    const std::vector<Expr> &scalars;
    int ranks;  // 0: not known
    using IRMutator::visit;
    Expr visit(const Variable *v) override {
        Symbol symbol = symbol_of(Expr(v));
        if (symbol.kind != Symbol::PlanScalar) return Expr(v);
        if (ranks > 0 && (ranks & (ranks - 1)) == 0 &&
            equal(scalars[symbol.number], cast(v->type, ranks_value())))
            return make_const(v->type, ranks);
        return body.scalar(symbol.number);
    }

public:
    PlanScalars(KernelBody &body, const std::vector<Expr> &scalars, int ranks)
        : body(body), scalars(scalars), ranks(ranks) {}
};

std::vector<Expr> reversed(const std::vector<Expr> &v) { return {v.rbegin(), v.rend()}; }

}  // namespace

Expr KernelBody::scalar(int number) {
    auto it = scalar_parameters.find(number);
    if (it != scalar_parameters.end()) return it->second;
    scalars.push_back(number);
    return scalar_parameters[number] =
               scalar_parameter(l.graph.scalars[number].type(), "plan_scalar_" + std::to_string(number));
}

const Halide::Parameter &KernelBody::parameter(const plan::Load &load, const Type &t, int dimensions,
                                               int slot) {
    for (auto &m : loads_made)
        if (m.load.buffer() == load.buffer() && m.load.from() == load.from() && m.load.rank() == load.rank())
            return m.slots[slot];
    LoadParameter made{load, {}};
    int slots = load.from() == plan::From::Each && addends.kind == AddendSource::Direct ? addends.ranks : 1;
    // The tensor's name, which Halide's messages about bounds show to the user.
    std::string name = load.from() == plan::From::Sum ? "sum" : l.buffers[load.buffer()].name;
    std::replace(name.begin(), name.end(), '.', '_');
    name += (load.from() == plan::From::Own ? "_in" : "_of_rank") + std::to_string(loads_made.size());
    for (int k = 0; k < slots; k++)
        made.slots.push_back(
            buffer_parameter(t, dimensions, name + (slots > 1 ? "_" + std::to_string(k) : "")));
    loads_made.push_back(made);
    return loads_made.back().slots[slot];
}

bool KernelBody::is_here(const std::vector<Expr> &indices) const {
    if (indices.size() != here.size()) return false;
    for (size_t d = 0; d < here.size(); d++)
        if (!equal(indices[d], here[d])) return false;
    return true;
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

Expr KernelBody::load_own(const Node &n, const std::vector<Expr> &indices) {
    int buffer = l.buffer_of.at(n.id);
    for (size_t j = 0; j < s.stores.size(); j++)
        if (s.stores[j].buffer == buffer && s.kind == plan::StageKind::Sweep) {
            if (!is_here(indices))
                throw Error("internal: " + n.name + " is read in place at another element");
            return elements[int(j)] = out_element(int(j));
        }
    return load(parameter(plan::Load(buffer, plan::From::Own, 0), n.type, int(n.dimensions()), 0),
                reversed(indices));
}

int KernelBody::known_ranks() const {
    for (NodeId id : s.nodes) {
        const Node &n = l.graph.at(id);
        if (n.reduces_over_ranks())
            return addends.kind == AddendSource::Direct ? addends.ranks : 0;
    }
    return 0;
}

Expr KernelBody::expression(const Node &n, const std::vector<Expr> &indices, plan::From from, int slot) {
    Names names = n.as<Blocks>() ? Names{} : n.vars(), reduced = n.rvars();
    names.insert(names.end(), reduced.begin(), reduced.end());
    Expr e = substitute_indices(PlanScalars(*this, l.graph.scalars, known_ranks()).mutate(n.value), names,
                                indices);
    return map_accesses(e, [&](const Call *c) -> Expr {
        const Node &t = l.graph.at(accessed(c));
        auto idx = indices_of(c);
        auto stage = l.stage_of.find(t.id);
        bool inside = stage != l.stage_of.end() && &l.stages[stage->second] == &s;
        if (inside && from == plan::From::Own) return value(t.id);
        if (from == plan::From::Own) return load_own(t, idx);
        int rank = from == plan::From::Rank ? n.as<Communication>()->from.value : 0;
        return load(parameter(plan::Load(l.buffer_of.at(t.id), from, rank), t.type, int(t.dimensions()), slot),
                    reversed(idx));
    });
}

Expr KernelBody::addend(const Node &n, int slot) {
    return cast(n.accumulator, expression(n, here, plan::From::Each, slot));
}

Expr KernelBody::compute(const Node &n) {
    if (n.loads_from_ranks() && !n.reduces_over_ranks()) return expression(n, here, plan::From::Rank);
    if (!n.reduces_over_ranks()) return expression(n, here);
    if (addends.kind == AddendSource::Chunks) {
        int ordinal = 0;  // among the stage's reductions over ranks
        for (NodeId id : s.nodes) {
            if (id == n.id) break;
            const Node &other = l.graph.at(id);
            ordinal += other.reduces_over_ranks();
        }
        auto &chunk = parameter(plan::Load(-1, plan::From::Sum, ordinal), n.accumulator, int(n.dimensions()), 0);
        return round_to(n.type, load(chunk, reversed(here)));
    }
    Expr sum = addend(n, 0);
    for (int k = 1; k < addends.ranks; k++) sum = combine(n.reduce_op(), sum, addend(n, k));
    return round_to(n.type, sum);
}

Expr KernelBody::value(NodeId id) {
    auto it = value_of.find(id);
    if (it != value_of.end()) return it->second;
    const Node &n = l.graph.at(id);
    Expr e = compute(n);
    // A 16-bit float is bound as the f32 it rounds to: names of 16-bit types do not survive Halide's emulation of them.
    bool narrow = is_float16(n.type);
    e = strict_float(narrow ? cast(f32, e) : e);
    std::string name = "v" + std::to_string(bound.size());
    bound.push_back({name, e});
    Expr v = Variable::make(e.type(), name);
    return value_of[id] = narrow ? cast(n.type, v) : v;
}

Expr KernelBody::finish(const Expr &e) const {
    Expr r = strict_float(e);
    for (auto it = bound.rbegin(); it != bound.rend(); ++it)
        if (expr_uses_var(r, it->first)) r = Let::make(it->first, it->second, r);
    return r;
}

void KernelBody::append_arguments(KernelArguments &list) const {
    for (int k : scalars) add_scalar(list, l.graph.scalars[k].type(), "plan_scalar_" + std::to_string(k));
    for (auto &m : loads_made)
        for (auto &p : m.slots) add_buffer(list, p);
}

std::vector<plan::Load> KernelBody::loads() const {
    std::vector<plan::Load> v;
    for (auto &m : loads_made) v.push_back(m.load);
    return v;
}

}  // namespace stretto
