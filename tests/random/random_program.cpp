#include "tests/random/random_program.h"
#include "lang/error.h"
#include "tests/random/random_generator.h"

namespace stretto {

// ---- arguments

void ProgramGenerator::add_argument(Kind kind, bool updated) {
    Known t{Tensor("unused"), random_type(), random_dims(), kind};
    if (kind == Holding::Partial)
        t.op = draw.chance(70) ? Sum : draw.pick<ReduceOp>({Prod, ReduceOp::Max, ReduceOp::Min});
    if (kind == Holding::Sliced) t.sliced = draw.pick(t.dims);
    t.entry = true;
    static const char *const names[] = {"input replicated", "input sliced", "input partial",
                                        "input local"};
    if (updated) {
        counts["inout"]++;
        InOut<Tensor> a{"s" + std::to_string(in_outs.size()), t.type, extents_of(t.dims), layout_of(t)};
        t.tensor = a;
        arguments.push_back(a);
        in_out_known.push_back(known.size());
        in_outs.push_back(a);
    } else {
        counts[names[kind]]++;
        Input<Tensor> a{"x" + std::to_string(known.size()), t.type, extents_of(t.dims), layout_of(t)};
        t.tensor = a;
        arguments.push_back(a);
    }
    counts["type " + type_name(t.type)]++;
    known.push_back(t);
}

void ProgramGenerator::add_arguments() {
    int count = 1 + draw.below(options.dimensions);
    for (int d = 0; d < count; d++) {
        vars.emplace_back(std::string(1, char('i' + d)));
        if (draw.chance(85)) {
            sizes.emplace_back(std::string(1, char('a' + d)));
            extents.emplace_back(sizes.back());
        } else {
            extents.emplace_back(1 + draw.below(5));
        }
    }
    Input<double> rate{"rate"};
    Input<float> scale{"scale"};
    Input<int64_t> step{"step"};
    Input<uint64_t> seed{"seed"};
    for (ArgumentRef a :
         {ArgumentRef(rate), ArgumentRef(scale), ArgumentRef(step), ArgumentRef(seed)})
        arguments.push_back(a);
    around.scalars = {rate, scale, step, Halide::cast<double>(ranks())};
    for (auto &s : sizes) around.scalars.push_back(s);
    around.seed = seed;
    for (auto kind :
         {Holding::Replicated, Holding::Sliced, Holding::Partial, Holding::Local})
        add_argument(kind, false);
    for (int k = draw.below(3); k > 0; k--) add_argument(Kind(draw.below(4)), false);
    for (int k = 1 + draw.below(3); k > 0; k--)
        add_argument(
            draw.pick<Kind>({Holding::Replicated, Holding::Sliced, Holding::Local}), true);
}

// ---- results: nothing that was defined is left unread

void ProgramGenerator::finish() {
    for (size_t k = 0; k < known.size(); k++)
        if (known[k].kind == Holding::Partial && !known[k].read) {
            Known t = known[k];
            reduce_over_ranks(t);
            known[k].read = true;
        }
    std::vector<bool> updated(in_outs.size());
    int outputs = 0;
    for (size_t k = 0; k < known.size(); k++) {
        Known t = known[k];
        if (t.read || t.entry) continue;
        bool used = false;
        for (size_t s = 0; s < in_outs.size() && !used; s++) {
            const Known &state = known[in_out_known[s]];
            bool into_local = state.kind == Holding::Local && t.kind == Holding::Replicated;
            bool fits = state.dims == t.dims &&
                        ((state.kind == t.kind && state.sliced == t.sliced) || into_local);
            if (updated[s] || !fits) continue;
            Tensor value(fresh_name());
            std::vector<Expr> at;
            for (int d : t.dims) at.push_back(vars[size_t(d)]);
            Surroundings here = around;
            TensorRef(value.definition(), at) = random_elementwise(
                draw, counts, state.type, {TensorRef(t.tensor.definition(), at)}, here, 1);
            update(in_outs[s], value);
            counts[into_local ? "update of a local by a replicated" : "update"]++;
            updated[s] = used = true;
        }
        if (used) continue;
        Output<Tensor> o{"y" + std::to_string(outputs++), t.type, extents_of(t.dims), layout_of(t)};
        std::vector<Expr> at;
        for (int d : t.dims) at.push_back(vars[size_t(d)]);
        Expr value = TensorRef(t.tensor.definition(), at);
        TensorRef(o.definition(), at) = draw.chance(50) ? value + value : value;
        arguments.push_back(o);
        counts["output"]++;
    }
    // An InOut that fits nothing takes a value made of its own, so that states of every layout
    // are updated.
    for (size_t s = 0; s < in_outs.size(); s++) {
        if (updated[s]) continue;
        Known &state = known[in_out_known[s]];
        Surroundings here = around;
        here.indices = index_values(state.dims);
        Tensor value(fresh_name());
        std::vector<Expr> at;
        for (int d : state.dims) at.push_back(vars[size_t(d)]);
        TensorRef(value.definition(), at) =
            random_elementwise(draw, counts, state.type, {read(state)}, here, 2);
        update(in_outs[s], value);
        counts["update"]++;
    }
}

std::vector<ArgumentRef> ProgramGenerator::operator()() {
    add_arguments();
    for (int k = 0; k < options.steps; k++) step();
    finish();
    return arguments;
}

RandomProgram random_program(uint64_t seed, const RandomProgramOptions &options) {
    OperationCounts counts;
    for (auto &operation : operation_names()) counts[operation] = 0;
    std::string name = "random_" + std::to_string(seed);
    try {
        return {Program(name, ProgramGenerator(seed, options, counts)()), counts};
    } catch (const Error &e) {
        throw Error(name + " is refused: " + e.what());
    }
}

std::vector<ArgumentRef> random_arguments(uint64_t seed, const RandomProgramOptions &options) {
    OperationCounts counts;
    return ProgramGenerator(seed, options, counts)();
}

std::map<std::string, int64_t> random_sizes(const Graph &g, int ranks, uint64_t seed) {
    Draw draw(seed);
    std::map<std::string, int64_t> sizes;
    for (auto &s : g.sizes) sizes[s] = draw.pick<int64_t>({0, 1, ranks - 1, ranks, ranks + 1, 7, 13, 21});
    return sizes;
}

}  // namespace stretto
