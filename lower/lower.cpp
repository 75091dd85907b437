#include "lower/lower.h"
#include "collectives/plan/pack.h"
#include "collectives/plan/validate.h"
#include "lang/error.h"
#include "lang/print.h"
#include "lower/emit.h"
#include "lower/kernels.h"
#include "lower/signatures.h"
#include "lower/stages.h"
#include "lower/storage.h"
#include "lower/syncs.h"
#include "lower/verify.h"
#include "schedule/partition.h"

namespace stretto {

Lowering lower_to_stages(const Graph &scheduled) {
    Lowering l;
    l.graph = settle_transfers(scheduled);               // what a sweep loads of other ranks, and what it sends to one
    std::vector<Stage> stages = make_stages(l.graph);    // what is computed together, and what that touches
    assign_storage(l, stages);                           // where values live; in place where legal
    l.items = with_choices(l.graph, std::move(stages));  // in one shot or in two phases
    derive_syncs(l);                                     // where ranks wait for each other
    std::string fault = verify(l);
    if (!fault.empty()) throw Error("internal: the lowering of " + l.graph.program + " breaks a rule. " + fault);
    return l;
}

Lowered lower(const Graph &scheduled, const LowerOptions &options) {
    prepare_halide();
    LowerOptions o = options;
    o.target.set_feature(Halide::Target::NoBoundsQuery);  // the executor knows every bound
    Lowering l = lower_to_stages(scheduled);
    std::string function = o.function.empty() ? l.graph.program : o.function;
    plan::PlanT plan = describe(l, o.schedule);
    plan.program = to_string(scheduled);
    Kernels kernels = build_kernels(l, function, o.target, o.direct_ranks);
    plan.cpu = std::move(kernels.section);
    std::string wrong = plan::check(plan);
    if (!wrong.empty()) throw Error("internal: the plan of " + function + " breaks a rule. " + wrong);
    std::vector<uint8_t> bytes = plan::pack(plan);
    Halide::Module module = link_kernels(function, kernels.modules);
    add_signatures(module, function, plan::signatures(plan));
    return {std::move(l), std::move(plan), std::move(bytes), function, module};
}

}  // namespace stretto
