// Runs a program with the reference and compares with values that the test computes in float64.
#pragma once
#include <doctest/doctest.h>
#include "lang/program.h"
#include "lang/reference/random_inputs.h"

#include <cmath>
#include <set>

namespace stretto::test {

// The sizes at which slicing goes wrong, for P ranks.
inline std::set<int64_t> interesting_sizes(int ranks) {
    return {0, 1, ranks - 1, ranks, ranks + 1, 17, 131};
}
inline const std::vector<int> rank_counts = {1, 2, 3, 4, 5, 8};

// Whole tensors as float64: what the program was given, and what came out.
struct Values {
    const Graph &graph;
    int ranks;
    RunInputs in;
    RunResult out;

    Values(const Program &p, int ranks, const std::map<std::string, int64_t> &sizes, uint64_t seed = 1)
        : graph(p.graph()), ranks(ranks), in(random_inputs(graph, sizes, ranks, seed)) {
    }
    void run() {
        out = interpret(graph, ranks, in);
    }

    // f(rank, index) in every element of an argument.
    template <class F>
    void set(const std::string &name, F f) {
        for (int r = 0; r < ranks; r++) {
            HostTensor &t = in.tensors.at(name)[size_t(r)];
            int64_t p = 0;
            for_each_index(t.begin, t.extent, [&](auto &index) { t.set(p++, f(r, index)); });
        }
    }
    double scalar(const std::string &name) const {
        const ScalarValue &s = in.scalars.at(name);
        return to_double(s.value, s.type);
    }

    // Element `index` of an argument before the call: of a sliced one on its owner, else on rank r.
    double before(const std::string &name, const std::vector<int64_t> &index, int r = 0) const {
        return element(in.tensors.at(name), index, r);
    }
    // The sum over ranks of a partial argument.
    double sum_before(const std::string &name, const std::vector<int64_t> &index) const {
        double s = 0;
        for (int r = 0; r < ranks; r++) s += before(name, index, r);
        return s;
    }

    // Every element that a rank has of argument `name` is near expected(index), within tolerance
    // times the largest |expected|, or the magnitude of what was added up if that is given.
    template <class F>
    void expect(const std::string &name, double tolerance, F expected, double magnitude = 1e-30) const {
        const Argument &a = *graph.find_argument(name);
        double scale = magnitude;
        for (auto &t : out.arguments.at(name))
            for_each_index(t.begin, t.extent,
                           [&](auto &index) { scale = std::max(scale, std::fabs(expected(index))); });
        int64_t elements = 0;
        for (auto &t : out.arguments.at(name)) {
            int64_t p = 0;
            for_each_index(t.begin, t.extent, [&](auto &index) {
                double x = t.get(p++), y = expected(index);
                elements++;
                if (!(std::fabs(x - y) <= tolerance * scale))
                    FAIL_CHECK(name << " at " << index[0] << " with " << ranks << " ranks: " << x
                                    << ", not " << y);
            });
        }
        int64_t whole = make_host_tensor(graph, a, in.sizes, 0, 1).count();
        CHECK(elements == (a.layout.is_sliced() ? whole : whole * ranks));
        if (a.layout.is_replicated())
            for (auto &t : out.arguments.at(name)) CHECK(same_bits(t, out.arguments.at(name)[0]));
    }

private:
    static double element(const std::vector<HostTensor> &tensors, const std::vector<int64_t> &index,
                          int r) {
        if (tensors[size_t(r)].contains(index))
            return tensors[size_t(r)].get(tensors[size_t(r)].position(index));
        for (auto &t : tensors)
            if (t.contains(index)) return t.get(t.position(index));
        throw std::out_of_range("no rank has the element");
    }
};

}  // namespace stretto::test
