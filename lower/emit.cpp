#include "lower/emit.h"
#include <algorithm>

namespace stretto {

namespace {

plan::Extent extent(const Dim &d) {
    plan::ExtentKind kind = d.kind == Dim::Constant ? plan::ExtentKind::Constant
                            : d.kind == Dim::Size   ? plan::ExtentKind::Size
                                                    : plan::ExtentKind::Ranks;
    return plan::Extent(kind, d.value);
}

std::vector<plan::Extent> extents(const Dims &dims) {
    std::vector<plan::Extent> v;
    for (auto &d : dims) v.push_back(extent(d));
    return v;
}

// The first tensor argument that has size number s as a whole dimension.
bool find_carrier(const Graph &g, int s, int *argument, int *dimension) {
    for (size_t a = 0; a < g.arguments.size(); a++)
        for (size_t d = 0; d < g.arguments[a].dims.size(); d++)
            if (g.arguments[a].dims[d] == Dim{Dim::Size, s} &&
                g.arguments[a].layout.axes_of(d).empty()) {
                *argument = int(a);
                *dimension = int(d);
                return true;
            }
    return false;
}

plan::LayoutKind layout_kind(const Layout &l) {
    return l.is_sliced()    ? plan::LayoutKind::Sliced
           : l.is_partial() ? plan::LayoutKind::Partial
           : l.is_local()   ? plan::LayoutKind::Local
                            : plan::LayoutKind::Replicated;
}

// The tensors it computes; of a copy at the end the arguments it writes.
std::vector<std::string> names(const Lowering &l, const Stage &s) {
    std::vector<std::string> v;
    for (NodeId id : s.nodes) v.push_back(l.graph.at(id).name);
    for (auto &a : s.accesses)
        if (s.nodes.empty() && a.written >= 0) v.push_back(l.buffers[size_t(a.buffer)].name);
    return v;
}

int add_stage(const Lowering &l, plan::PlanT &p, const Stage &s) {
    auto t = std::make_unique<plan::StageT>();
    t->kind = s.kind;
    t->names = names(l, s);
    for (auto &loop : s.loops) t->loops.push_back(plan::Loop(extent(loop.extent), loop.range));
    t->outputs = s.outputs;
    t->rides = s.rides;
    for (auto &a : s.accesses) {
        auto to = std::make_unique<plan::StageAccessT>();
        to->buffer = a.buffer;
        to->from = a.from;
        to->rank = a.rank;
        to->cyclic = a.cyclic;
        to->how = a.how();
        to->reach = a.reach;
        t->accesses.push_back(std::move(to));
    }
    p.stages.push_back(std::move(t));
    return int(p.stages.size()) - 1;
}

void add_item(const Lowering &l, plan::PlanT &p, const Item &item) {
    if (auto *s = std::get_if<Stage>(&item)) p.items.push_back(plan::Item(plan::ItemKind::Stage, add_stage(l, p, *s)));
    if (auto *sync = std::get_if<Sync>(&item)) {
        p.items.push_back(plan::Item(plan::ItemKind::Sync, int(p.syncs.size())));
        p.syncs.push_back(std::make_unique<plan::SyncT>());
        p.syncs.back()->buffers = sync->buffers;
    }
    if (auto *c = std::get_if<Choice>(&item)) {
        p.items.push_back(plan::Item(plan::ItemKind::Choice, int(p.choices.size())));
        int one_shot = add_stage(l, p, c->one_shot);
        p.choices.push_back(plan::Choice(one_shot, add_stage(l, p, c->two_phases)));
    }
}

}  // namespace

plan::Type plan_type(const Type &t) {
    if (t.is_bool()) return plan::Type::Bool;
    if (t == f16) return plan::Type::Float16;
    if (t == bf16) return plan::Type::BFloat16;
    if (t == f32) return plan::Type::Float32;
    if (t == f64) return plan::Type::Float64;
    static const plan::Type ints[] = {plan::Type::Int8, plan::Type::Int16, plan::Type::Int32, plan::Type::Int64};
    static const plan::Type uints[] = {plan::Type::UInt8, plan::Type::UInt16, plan::Type::UInt32, plan::Type::UInt64};
    int log = t.bits() == 8 ? 0 : t.bits() == 16 ? 1
                              : t.bits() == 32   ? 2
                                                 : 3;
    return t.is_int() ? ints[log] : uints[log];
}

std::vector<std::string> size_parameters(const Graph &g) {
    std::vector<std::string> v;
    int argument, dimension;
    for (size_t s = 0; s < g.sizes.size(); s++)
        if (!find_carrier(g, int(s), &argument, &dimension)) v.push_back(g.sizes[s]);
    return v;
}

plan::PlanT describe(const Lowering &l, const std::string &schedule) {
    const Graph &g = l.graph;
    plan::PlanT p;
    p.name = g.program;
    p.schedule = schedule;
    std::vector<int> buffer_of_argument(g.arguments.size(), -1);
    for (size_t b = 0; b < l.buffers.size(); b++) {
        auto &s = l.buffers[b];
        if (s.argument >= 0) buffer_of_argument[s.argument] = int(b);
        auto t = std::make_unique<plan::BufferT>();
        t->name = s.name;
        t->type = plan_type(s.type);
        t->extents = extents(s.dims);
        t->sliced = s.sliced;
        t->argument = s.argument;
        p.buffers.push_back(std::move(t));
    }
    for (size_t i = 0; i < g.arguments.size(); i++) {
        auto &a = g.arguments[i];
        auto t = std::make_unique<plan::ArgumentT>();
        t->name = a.name;
        t->scalar = a.scalar;
        t->type = plan_type(a.type);
        t->access = a.access == Access::Input   ? plan::Access::Input
                    : a.access == Access::InOut ? plan::Access::InOut
                                                : plan::Access::Output;
        t->extents = extents(a.dims);
        t->layout = layout_kind(a.layout);
        t->op = plan::ReduceOp(int(a.layout.op()));
        t->sliced = a.layout.first_sliced();
        t->buffer = buffer_of_argument[i];
        p.arguments.push_back(std::move(t));
    }
    for (size_t s = 0; s < g.sizes.size(); s++) {
        auto t = std::make_unique<plan::SizeT>();
        t->name = g.sizes[s];
        if (!find_carrier(g, int(s), &t->argument, &t->dimension)) {
            t->argument = t->dimension = -1;
            t->parameter = int(p.arguments.size());
            auto a = std::make_unique<plan::ArgumentT>();
            a->name = g.sizes[s];
            a->scalar = true;
            a->type = plan::Type::Int64;
            p.arguments.push_back(std::move(a));
        }
        p.sizes.push_back(std::move(t));
    }
    auto add_scalar = [&](const Type &t) {
        auto scalar = std::make_unique<plan::ScalarT>();
        scalar->name = "plan_scalar_" + std::to_string(p.scalars.size());
        scalar->type = plan_type(t);
        p.scalars.push_back(std::move(scalar));
    };
    for (auto &e : g.scalars) add_scalar(e.type());
    for (auto &r : g.requirements) {
        auto require = std::make_unique<plan::RequireT>();
        require->scalar = int(p.scalars.size());
        require->text = r.text;
        for (size_t i = 0; i < g.arguments.size(); i++) {
            auto &a = g.arguments[i];
            Symbol symbol = symbol_of(scalar_argument(a.type, a.name));
            auto is = [&](const Symbol &s) { return s.kind == symbol.kind && s.name == symbol.name; };
            auto used = symbols_in(r.condition);
            if (a.scalar && std::any_of(used.begin(), used.end(), is)) require->arguments.push_back(int(i));
        }
        p.requires_.push_back(std::move(require));
        add_scalar(r.condition.type());
    }
    for (auto &item : l.items) add_item(l, p, item);
    return p;
}

}  // namespace stretto
