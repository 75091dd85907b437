#include "lang/reference/random_inputs.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace stretto {

namespace {

// Steele, Lea and Flood's SplitMix64: every bit of the result depends on every bit of x.
uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

double uniform(uint64_t key) {
    return std::ldexp(double(mixed(key) >> 11), -53);
}

struct Range {
    double low, high;
};

Range range_of(const Argument &a) {
    if (a.has_range) return {a.low, a.high};
    if (a.scalar) return a.type.is_float() ? Range{0.1, 0.9} : Range{1, a.type.is_bool() ? 1. : 9.};
    if (a.type.is_float()) return {-1, 1};
    return {a.type.is_uint() ? 0. : -100., a.type.is_bool() ? 1. : 100.};
}

// Of every float type, its denormal numbers too.
double special(const Type &t, uint64_t key) {
    double high = t == f16 ? 65504 : t == f64 ? 0x1p1023
                                              : 0x1.fep127,
           low = t == f16 ? 0x1p-24 : t == f64 ? 0x1p-1074
                                               : 0x1p-133;
    double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double values[] = {nan, infinity, -infinity, 0.0, -0.0, high, -high, low, -low, 1};
    return values[mixed(key) % 10];
}

double draw(const Argument &a, uint64_t key, Range r) {
    if (a.type.is_float()) return r.low + (r.high - r.low) * uniform(key);
    return std::min(r.high, std::floor(r.low + (r.high - r.low + 1) * uniform(key)));
}

constexpr int attempts = 256;

// Of attempt k: the first is from its range.
double draw_scalar(const Argument &a, uint64_t key, uint64_t seed, int k) {
    Range r = range_of(a);
    if (k == 0) return draw(a, key, r);
    if (k >= attempts / 2 && !a.has_range && !a.type.is_bool()) {
        r.high = std::pow(10., 1 + k % (a.type.bits() == 8 ? 2 : 5));
        r.low = a.type.is_uint() ? 0 : -r.high;
    }
    return draw(a, k % 4 == 3 ? mixed(seed + uint64_t(k)) : mixed(key + uint64_t(k)), r);
}

}  // namespace

RunInputs random_scalars(const Graph &g, const std::map<std::string, int64_t> &sizes, int ranks, uint64_t seed) {
    RunInputs best;
    best.sizes = sizes;
    size_t failures = 0;
    auto failed = requirements_of(g, ranks);
    for (int k = 0; k == 0 || (failures && k < attempts); k++) {
        RunInputs in = best;
        uint64_t key = mixed(seed);
        for (auto &a : g.arguments) {
            key = mixed(key);
            if (!a.scalar || (k && mixed(key + uint64_t(k)) % 2)) continue;  // half of those of the best so far stay
            in.scalars[a.name] = ScalarValue(a.type, cast_value(Value::of(draw_scalar(a, key, seed, k)), f64, a.type));
        }
        size_t now = failed(in).size();
        if (k && now > failures) continue;
        failures = now;
        best = std::move(in);
    }
    return best;
}

RunInputs random_inputs(const Graph &g, const std::map<std::string, int64_t> &sizes, int ranks, uint64_t seed,
                        int special_percent) {
    RunInputs in = random_scalars(g, sizes, ranks, seed);
    uint64_t argument_key = mixed(seed);
    for (auto &a : g.arguments) {
        argument_key = mixed(argument_key);
        if (a.scalar || a.access == Access::Output) continue;
        bool own = a.layout.is_partial() || a.layout.is_local();
        for (int r = 0; r < ranks; r++) {
            HostTensor t = make_host_tensor(g, a, sizes, r, ranks);
            uint64_t key = own ? mixed(argument_key + uint64_t(r) + 1) : argument_key;
            int64_t p = 0;
            for_each_index(t.begin, t.extent, [&](const std::vector<int64_t> &index) {
                uint64_t k = key;
                for (int64_t i : index) k = mixed(k + uint64_t(i));
                bool odd = !a.has_range && a.type.is_float() && int(mixed(k + 1) % 100) < special_percent;
                t.set(p++, odd ? special(a.type, k + 2) : draw(a, k, range_of(a)));
            });
            in.tensors[a.name].push_back(std::move(t));
        }
    }
    return in;
}

}  // namespace stretto
