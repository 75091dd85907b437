#include "lang/reference/reference.h"
#include "lang/error.h"
#include "lang/expand.h"
#include "lang/reference/nodes.h"

namespace stretto {

using interpreter::Run;

int64_t block_begin(int64_t n, int k, int ranks) {
    return n * k / ranks;
}

HostTensor make_host_tensor(const Graph &g, const Argument &a,
                            const std::map<std::string, int64_t> &sizes, int rank, int ranks) {
    return interpreter::part_of(g, a.type, a.dims, a.layout, sizes, rank, ranks);
}

namespace {

std::string shape_text(const HostTensor &t) {
    std::string s = type_name(t.type) + "[";
    for (size_t d = 0; d < t.extent.size(); d++)
        s += (d ? ", " : "") + std::to_string(t.begin[d]) + ":" + std::to_string(t.begin[d] + t.extent[d]);
    return s + "]";
}

// Input a, checked: one tensor a rank, of the right type and place, and the same on all ranks if it
// is replicated.
const std::vector<HostTensor> &input(const Graph &g, const Argument &a, const RunInputs &in, int ranks) {
    auto it = in.tensors.find(a.name);
    if (it == in.tensors.end()) throw Error("reference: argument " + a.name + " has no value");
    const auto &given = it->second;
    if (int(given.size()) != ranks)
        throw Error("reference: argument " + a.name + " has " + std::to_string(given.size()) +
                    " values for " + std::to_string(ranks) + " ranks");
    for (int r = 0; r < ranks; r++) {
        HostTensor expected = make_host_tensor(g, a, in.sizes, r, ranks);
        const HostTensor &t = given[size_t(r)];
        if (t.type != expected.type || t.begin != expected.begin || t.extent != expected.extent ||
            t.bytes.size() != expected.bytes.size())
            throw Error("reference: argument " + a.name + " on rank " + std::to_string(r) + " is " +
                        shape_text(t) + ", not " + shape_text(expected));
        if (a.layout.is_replicated() && !same_bits(t, given[0]))
            throw Error("reference: argument " + a.name + " is replicated, but rank " + std::to_string(r) +
                        " has other values than rank 0");
    }
    return given;
}

// A scalar in its argument's type.
ScalarValue scalar_input(const Argument &a, const RunInputs &in) {
    auto it = in.scalars.find(a.name);
    if (it == in.scalars.end()) throw Error("reference: argument " + a.name + " has no value");
    return {a.type, cast_value(it->second.value, it->second.type, a.type)};
}

std::vector<RankState> states(const Graph &g, int ranks, const RunInputs &in) {
    std::vector<RankState> all(static_cast<size_t>(ranks));
    for (int r = 0; r < ranks; r++) {
        RankState &s = all[size_t(r)];
        s.rank = r;
        s.ranks = ranks;
        s.sizes = in.sizes;
    }
    for (auto &a : g.arguments) {
        if (a.scalar) {
            for (auto &s : all) s.scalars[a.name] = scalar_input(a, in);
        } else if (a.access != Access::Output) {
            const auto &tensors = input(g, a, in, ranks);
            for (int r = 0; r < ranks; r++) all[size_t(r)].tensors[a.node] = tensors[size_t(r)];
        }
    }
    for (auto &e : g.scalars) {
        Evaluator value(expand_functions(e), {});
        for (auto &s : all) s.plan_scalars.push_back({e.type(), value(s, {})});
    }
    return all;
}

}  // namespace

std::function<Names(const RunInputs &)> requirements_of(const Graph &g, int ranks) {
    std::vector<std::pair<Evaluator, std::string>> conditions;
    std::function<void(const Expr &, const std::string &)> add = [&](const Expr &e, const std::string &text) {
        auto *both = e.as<Halide::Internal::And>();
        if (!both) return void(conditions.emplace_back(Evaluator(expand_functions(e), {}), text));
        add(both->a, text);
        add(both->b, text);
    };
    for (auto &q : g.requirements) add(q.condition, q.text);
    // Conditions read neither a tensor nor rank(): one rank speaks for all.
    return [=, arguments = g.arguments](const RunInputs &in) mutable {
        Names failed;
        if (conditions.empty()) return failed;
        RankState s;
        s.ranks = ranks;
        s.sizes = in.sizes;
        for (auto &a : arguments)
            if (a.scalar) s.scalars[a.name] = scalar_input(a, in);
        for (auto &[holds, text] : conditions)
            if (!holds(s, {}).as<bool>()) failed.push_back(text);
        return failed;
    };
}

RunResult interpret(const Graph &g, int ranks, const RunInputs &in, const ReferenceOptions &options) {
    if (ranks < 1) throw Error("reference: " + std::to_string(ranks) + " ranks");
    Run run{g, options, states(g, ranks, in)};
    RunResult result;
    for (auto &a : g.arguments) {
        if (a.scalar || a.access == Access::Input) continue;
        auto &tensors = result.arguments[a.name];
        for (int r = 0; r < ranks; r++)
            tensors.push_back(a.access == Access::InOut ? run.ranks[size_t(r)].tensors.at(a.node)
                                                        : make_host_tensor(g, a, in.sizes, r, ranks));
    }
    if (Names failed = requirements_of(g, ranks)(in); !failed.empty()) {
        result.failed_requirement = failed[0];
        return result;
    }

    for (auto &n : g.nodes)
        if (!n.is_argument()) interpreter::compute(run, n);
    for (auto &r : g.results) {
        const Argument &a = g.arguments.at(size_t(r.argument));
        for (int k = 0; k < ranks; k++) {
            const HostTensor &value = run.ranks[size_t(k)].tensors.at(r.node);
            HostTensor &argument = result.arguments.at(a.name)[size_t(k)];
            if (value.type != argument.type || value.begin != argument.begin ||
                value.extent != argument.extent)
                throw Error("reference: " + a.name + " is " + shape_text(argument) + " on rank " +
                            std::to_string(k) + ", but its value is " + shape_text(value));
            argument = value;
        }
    }
    return result;
}

}  // namespace stretto
