#include "lower/emit.h"
#include <algorithm>
#include <optional>
#include "collectives/plan/validate.h"

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

// A new entry of a plan's table.
template <class T>
T &add(std::vector<std::unique_ptr<T>> &table) {
    table.push_back(std::make_unique<T>());
    return *table.back();
}

// The first tensor argument that has size number s as a whole dimension, and which.
std::optional<std::pair<int, int>> find_carrier(const Graph &g, int s) {
    for (size_t a = 0; a < g.arguments.size(); a++)
        for (size_t d = 0; d < g.arguments[a].dims.size(); d++)
            if (g.arguments[a].dims[d] == Dim{Dim::Size, s} && g.arguments[a].layout.axes_of(d).empty())
                return std::pair{int(a), int(d)};
    return {};
}

plan::LayoutKind layout_kind(const Layout &l) {
    return l.is_sliced()    ? plan::LayoutKind::Sliced
           : l.is_partial() ? plan::LayoutKind::Partial
           : l.is_local()   ? plan::LayoutKind::Local
                            : plan::LayoutKind::Replicated;
}

// The tensors it computes; of a copy at the end the arguments it writes. As many as a plan's text has room for.
std::string names(const Lowering &l, const Stage &s) {
    std::string text;
    bool cut = false;
    auto add = [&](const std::string &name) {
        cut |= text.size() + name.size() + 8 > size_t(plan::max_text);
        if (!cut) text += (text.empty() ? "" : ", ") + name;
    };
    for (NodeId id : s.nodes) add(l.graph.at(id).name);
    for (auto &a : s.accesses)
        if (s.nodes.empty() && a.written >= 0) add(l.buffers[size_t(a.buffer)].name);
    return cut ? text + ", ..." : text;
}

int add_stage(const Lowering &l, plan::PlanT &p, const Stage &s) {
    plan::StageT &t = add(p.stages);
    t.kind = s.kind;
    t.names = names(l, s);
    for (auto &loop : s.loops) t.loops.push_back(plan::Loop(extent(loop.extent), loop.range));
    t.outputs = s.outputs;
    t.rides = s.rides;
    for (auto &a : s.accesses) {
        plan::StageAccessT &to = add(t.accesses);
        to.buffer = a.buffer;
        to.from = a.from;
        to.rank = a.rank;
        to.cyclic = a.cyclic;
        to.how = a.how();
        to.reach = a.reach;
    }
    return int(p.stages.size()) - 1;
}

void add_item(const Lowering &l, plan::PlanT &p, const Item &item) {
    if (auto *s = std::get_if<Stage>(&item)) p.items.push_back(plan::Item(plan::ItemKind::Stage, add_stage(l, p, *s)));
    if (auto *sync = std::get_if<Sync>(&item)) {
        p.items.push_back(plan::Item(plan::ItemKind::Sync, int(p.syncs.size())));
        add(p.syncs).buffers = sync->buffers;
    }
    if (auto *c = std::get_if<Choice>(&item)) {
        p.items.push_back(plan::Item(plan::ItemKind::Choice, int(p.choices.size())));
        int one_shot = add_stage(l, p, c->one_shot);
        p.choices.push_back(plan::Choice(one_shot, add_stage(l, p, c->two_phases)));
    }
}

}  // namespace

plan::Type plan_type(const Type &t) {
    // In the order of plan.fbs.
    static const std::vector<Type> types{Halide::Bool(), i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};
    return plan::Type(std::find(types.begin(), types.end(), t) - types.begin());
}

std::vector<std::string> size_parameters(const Graph &g) {
    std::vector<std::string> v;
    for (size_t s = 0; s < g.sizes.size(); s++)
        if (!find_carrier(g, int(s))) v.push_back(g.sizes[s]);
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
        plan::BufferT &t = add(p.buffers);
        t.name = s.name;
        t.type = plan_type(s.type);
        t.extents = extents(s.dims);
        t.sliced = s.sliced;
        t.argument = s.argument;
    }
    for (size_t i = 0; i < g.arguments.size(); i++) {
        auto &a = g.arguments[i];
        plan::ArgumentT &t = add(p.arguments);
        t.name = a.name;
        t.scalar = a.scalar;
        t.type = plan_type(a.type);
        t.access = plan::Access(int(a.access));
        t.extents = extents(a.dims);
        t.layout = layout_kind(a.layout);
        t.op = plan::ReduceOp(int(a.layout.op()));
        t.sliced = a.layout.first_sliced();
        t.buffer = buffer_of_argument[i];
    }
    for (size_t s = 0; s < g.sizes.size(); s++) {
        plan::SizeT &t = add(p.sizes);
        t.name = g.sizes[s];
        if (auto carrier = find_carrier(g, int(s))) {
            std::tie(t.argument, t.dimension) = *carrier;
        } else {
            t.parameter = int(p.arguments.size());
            plan::ArgumentT &a = add(p.arguments);
            a.name = g.sizes[s];
            a.scalar = true;
            a.type = plan::Type::Int64;
        }
    }
    auto add_scalar = [&](const Type &t) {
        plan::ScalarT &scalar = add(p.scalars);
        scalar.name = "plan_scalar_" + std::to_string(p.scalars.size() - 1);
        scalar.type = plan_type(t);
    };
    for (auto &e : g.scalars) add_scalar(e.type());
    for (auto &r : g.requirements) {
        plan::RequireT &require = add(p.requires_);
        require.scalar = int(p.scalars.size());
        require.text = r.text;
        for (size_t i = 0; i < g.arguments.size(); i++) {
            auto &a = g.arguments[i];
            Symbol symbol = symbol_of(scalar_argument(a.type, a.name));
            auto is = [&](const Symbol &s) { return s.kind == symbol.kind && s.name == symbol.name; };
            auto used = symbols_in(r.condition);
            if (a.scalar && std::any_of(used.begin(), used.end(), is)) require.arguments.push_back(int(i));
        }
        add_scalar(r.condition.type());
    }
    for (auto &item : l.items) add_item(l, p, item);
    return p;
}

}  // namespace stretto
