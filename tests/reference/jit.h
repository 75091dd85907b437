// One elementwise expression on arrays, by the reference and by Halide's JIT, to be compared.
#pragma once
#include <random>
#include "lang/reference/evaluate.h"

namespace stretto::test {

// An expression of its operands.
using Formula = std::function<Expr(const std::vector<Expr> &)>;

// f of reads of nodes 0, 1, ... at index i.
inline Expr at_index(const Formula &f, const std::vector<HostTensor> &operands) {
    std::vector<Expr> reads;
    for (size_t k = 0; k < operands.size(); k++)
        reads.push_back(access(NodeId(k), operands[k].type, {index("i")}));
    return f(reads);
}

inline HostTensor by_reference(const Formula &f, const std::vector<HostTensor> &operands) {
    RankState rank;
    for (size_t k = 0; k < operands.size(); k++) rank.tensors[NodeId(k)] = operands[k];
    Expr e = at_index(f, operands);
    Evaluator value(e, {"i"});
    HostTensor out(e.type(), {0}, operands[0].extent);
    for (int64_t i = 0; i < out.count(); i++) out.store(i, value(rank, {i}));
    return out;
}

// lanes: 1 for a scalar loop.
inline HostTensor by_jit(const Formula &f, const std::vector<HostTensor> &operands, int lanes,
                         const Halide::Target &target = Halide::get_jit_target_from_environment()) {
    Var i("i");
    std::vector<Halide::ImageParam> params;
    for (auto &t : operands) {
        params.emplace_back(t.type, 1);
        params.back().set(Halide::Buffer<>(t.type, const_cast<uint8_t *>(t.bytes.data()), int(t.count())));
    }
    Halide::Func func;
    func(i) = map_accesses(at_index(f, operands), [&](const Halide::Internal::Call *c) {
        return Expr(params[size_t(accessed(c))](i));
    });
    if (lanes > 1) func.vectorize(i, lanes, Halide::TailStrategy::GuardWithIf);
    HostTensor out(func.types()[0], {0}, operands[0].extent);
    Halide::Buffer<> b(out.type, out.bytes.data(), int(out.count()));
    func.realize(b, target);
    return out;
}

// "": the same bits. Else the first element that differs, and how many do.
inline std::string difference(const HostTensor &a, const HostTensor &b,
                              const std::vector<HostTensor> &operands) {
    int differ = 0;
    std::string first;
    for (int64_t i = 0; i < a.count(); i++) {
        HostTensor x(a.type, {}, {}), y(b.type, {}, {});
        x.store(0, a.load(i)), y.store(0, b.load(i));
        if (same_bits(x, y)) continue;
        if (!differ++) {
            std::ostringstream o;
            o.precision(17);
            o << "at " << i << ":";
            for (auto &t : operands) o << " " << t.get(i);
            o << " gives " << a.get(i) << " and " << b.get(i);
            first = o.str();
        }
    }
    return differ ? std::to_string(differ) + " of " + std::to_string(a.count()) + " differ, " + first : "";
}

// The values that functions stumble over.
inline std::vector<double> special_values() {
    double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    return {0.0, -0.0, 1, -1, 0.5, -0.5, 2, 3,
            -3, inf, -inf, nan, 0x1p-149, -0x1p-149, 0x1p-126, 0x1p-130,
            88.7, 88.8, -87.3, -87.4, -103.9, -104.1, 127, 128,
            129, 255, 256, 65504, 65519, 65520, 65536, 0x1p-24,
            0x1p-25, 0x1.8p-25, 0x1p-14, 3.4e38, -3.4e38, 1e10, -1e10, 1e30,
            -1e30, 1e9, -1e9, 2147483520., -2147483648., 1.1754942e-38};
}

// n values of bits drawn at random (floats: of every exponent), with the special values in front
// for floats.
inline HostTensor random_bits(const Type &t, int64_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    HostTensor out(t, {0}, {n});
    for (auto &b : out.bytes) b = uint8_t(random());
    if (t.is_float()) {
        auto special = special_values();
        for (int64_t i = 0; i < std::min<int64_t>(n, int64_t(special.size())); i++)
            out.set(i, special[size_t(i)]);
    }
    return out;
}

inline HostTensor random_in(const Type &t, int64_t n, double low, double high, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> draw(low, high);
    HostTensor out(t, {0}, {n});
    for (int64_t i = 0; i < n; i++) out.set(i, draw(random));
    return out;
}

}  // namespace stretto::test
