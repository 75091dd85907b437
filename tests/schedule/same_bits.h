// Runs a program and its scheduled graph through the reference, with the same data, and compares every result bit by bit.
#pragma once
#include "lang/reference/reference.h"
#include "schedule/schedule.h"

namespace stretto::test {

// The element of an argument at a global index: distinct in argument, index and, where ranks may differ, rank.
inline double element(const Argument &a, size_t ordinal, const std::vector<int64_t> &index, int rank) {
    bool differs = a.layout.is_partial() || a.layout.is_local();
    uint64_t x = 0x9e3779b97f4a7c15ull * (ordinal + 1);
    for (int64_t i : index) x = (x ^ uint64_t(i + 1)) * 0xff51afd7ed558ccdull, x ^= x >> 29;
    x = (x ^ (differs ? uint64_t(rank + 1) << 32 : 0)) * 0xc4ceb9fe1a85ec53ull;
    x ^= x >> 31;
    double unit = double(x >> 11) / 9007199254740992.0;
    return a.has_range ? a.low + (a.high - a.low) * unit : unit * 4 - 2;
}

using Sizes = std::map<std::string, int64_t>;

// Every rank's arguments of g, which may have other layouts than those of the program.
inline RunInputs inputs(const Graph &program, const Graph &g, const Sizes &sizes, int ranks) {
    RunInputs in;
    in.sizes = sizes;
    for (size_t a = 0; a < g.arguments.size(); a++) {
        const Argument &arg = g.arguments[a];
        if (arg.scalar) {
            if (arg.type.is_float())
                in.scalars[arg.name] = ScalarValue(0.125);
            else
                in.scalars[arg.name] = ScalarValue(3);
            continue;
        }
        for (int r = 0; r < ranks; r++) {
            HostTensor t = make_host_tensor(g, arg, sizes, r, ranks);
            for_each_index(t.begin, t.extent, [&](const std::vector<int64_t> &i) {
                t.set(t.position(i), element(program.arguments[a], a, i, r));
            });
            in.tensors[arg.name].push_back(t);
        }
    }
    return in;
}

// "" if all results of g agree with the program's, else where they do not.
inline std::string difference(const Program &p, const Graph &g, const Sizes &sizes, int ranks) {
    RunResult expected = interpret(p.graph(), ranks, inputs(p.graph(), p.graph(), sizes, ranks));
    RunResult got = interpret(g, ranks, inputs(p.graph(), g, sizes, ranks));
    for (auto &[name, tensors] : expected.arguments)
        for (int r = 0; r < ranks; r++) {
            const HostTensor &whole = tensors[size_t(r)], &part = got.arguments.at(name)[size_t(r)];
            std::string where;
            for_each_index(part.begin, part.extent, [&](const std::vector<int64_t> &i) {
                HostTensor x(whole.type, {}, {}), y(part.type, {}, {});
                x.store(0, whole.load(whole.position(i)));
                y.store(0, part.load(part.position(i)));
                if (!where.empty() || same_bits(x, y)) return;
                where = name + " on rank " + std::to_string(r) + " of " + std::to_string(ranks) + ", at";
                for (int64_t d : i) where += " " + std::to_string(d);
                where += ": " + std::to_string(y.get(0)) + ", unscheduled " + std::to_string(x.get(0));
            });
            if (!where.empty()) return where;
        }
    return "";
}
inline std::string difference(const Program &p, const Schedule &s, const Sizes &sizes, int ranks) {
    std::string where = difference(p, s.graph(), sizes, ranks);
    return where.empty() ? "" : where + "\n" + s.text();
}

inline const std::vector<int> rank_counts = {1, 2, 3, 4, 5, 8};
// Of the first size of a program; the others are small constants.
inline std::vector<int64_t> lengths(int ranks) {
    return {0, 1, ranks - 1, ranks, ranks + 1, 17};
}
inline Sizes sizes_of(const Program &p, int64_t n) {
    Sizes sizes;
    int64_t other = 3;
    for (auto &s : p.graph().sizes) {
        sizes[s] = sizes.empty() ? n : other;
        other += 2;
    }
    return sizes;
}

}  // namespace stretto::test
