#include "lower/lower.h"
#include "collectives/plan/pack.h"
#include "collectives/plan/validate.h"
#include "lang/error.h"
#include "lower/barriers.h"
#include "lower/emit.h"
#include "lower/stages.h"
#include "lower/storage.h"
#include "lower/verify.h"

namespace stretto {

Lowering lower_to_stages(const Graph &scheduled) {
    Lowering l;
    l.graph = settle_addends(scheduled);  // an addend of a reduction over ranks is one load
    assign_stages(l);                     // what is computed together
    assign_storage(l);                    // where values live; in place where legal
    derive_barriers(l);                   // where ranks wait for each other
    std::string fault = verify(l);
    if (!fault.empty()) throw Error("internal: the lowering of " + l.graph.program + " breaks a rule. " + fault);
    return l;
}

Lowered lower(const Graph &scheduled, const LowerOptions &options) {
    prepare_halide();
    LowerOptions o = options;
    o.target.set_feature(Halide::Target::NoBoundsQuery);  // the executor knows every bound
    Lowering l = lower_to_stages(scheduled);
    bool folds = false;
    for (auto &n : l.graph.nodes) folds |= n.as<Fold>() != nullptr;
    if (folds) {  // folds run over the number of ranks
        size_t k = 0;
        while (k < l.graph.scalars.size() && !Halide::Internal::equal(l.graph.scalars[k], ranks_value())) k++;
        if (k == l.graph.scalars.size()) l.graph.scalars.push_back(ranks_value());
    }
    std::string function = o.function.empty() ? l.graph.program : o.function;
    plan::PlanT plan = describe(l, o.schedule, o.target.to_string());
    Kernels kernels = build_kernels(l, plan, function, o.target, o.direct_ranks);
    std::string wrong = plan::check(plan);
    if (!wrong.empty()) throw Error("internal: the plan of " + function + " breaks a rule. " + wrong);
    std::vector<uint8_t> bytes = plan::pack(plan);
    Halide::Module module = link_kernels(function, kernels.modules, kernels.names, o.target);
    return {std::move(l), std::move(plan), std::move(bytes), function, module};
}

}  // namespace stretto
