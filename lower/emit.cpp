#include "lower/emit.h"
#include "lower/kernels.h"

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

plan::Collective collective(const Stage &s) {
    if (!s.collective) return plan::Collective::None;
    return s.algorithm == Algorithm::OneShot    ? plan::Collective::OneShot
           : s.algorithm == Algorithm::TwoPhase ? plan::Collective::TwoPhase
                                                : plan::Collective::Auto;
}

}  // namespace

std::vector<std::string> size_parameters(const Graph &g) {
    std::vector<std::string> v;
    int argument, dimension;
    for (size_t s = 0; s < g.sizes.size(); s++)
        if (!find_carrier(g, int(s), &argument, &dimension)) v.push_back(g.sizes[s]);
    return v;
}

plan::PlanT describe(const Lowering &l, const std::string &schedule, const std::string &target) {
    const Graph &g = l.graph;
    plan::PlanT p;
    p.name = g.program;
    p.schedule = schedule;
    p.target = target;
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
        t->peers = s.peers;
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
    for (auto &s : l.stages) {
        auto t = std::make_unique<plan::StageT>();
        t->kind = s.kind;
        for (NodeId id : s.nodes) t->names.push_back(g.at(id).name);
        for (size_t d = 0; d < s.loops.size(); d++)
            t->loops.push_back(plan::Loop(extent(s.loops[d]), s.ranges[d]));
        t->outputs = s.outputs;
        for (auto &st : s.stores)
            t->stores.push_back(plan::Store(st.buffer, st.all ? plan::To::All : plan::To::Own, st.in_place));
        t->collective = collective(s);
        t->barrier_one_shot = s.barrier_one_shot;
        t->barrier_two_phase = s.barrier_two_phase;
        p.stages.push_back(std::move(t));
    }
    p.leave_one_shot = l.leave_one_shot;
    p.leave_two_phase = l.leave_two_phase;
    return p;
}

}  // namespace stretto
