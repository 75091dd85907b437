#include "collectives/execute/bind.h"

#include <algorithm>
#include <cinttypes>

#include "collectives/base/error.h"
#include "collectives/plan/text.h"

namespace stretto::runtime {
namespace {

using plan::ArgumentT;
using plan::ExtentKind;
using plan::PlanT;
using plan::text;

[[noreturn]] void refuse(const ArgumentT &a, const std::string &what) { throw Refusal("argument " + a.name + what); }

std::string type_text(halide_type_t t) {
    static const char *const names[] = {"int", "uint", "float", "handle", "bfloat"};
    if (t.code == halide_type_uint && t.bits == 1) return "bool";
    std::string s =
        t.code <= 4 ? names[t.code] + std::to_string(t.bits) : "type code " + std::to_string(t.code);
    return t.lanes == 1 ? s : s + "x" + std::to_string(t.lanes);
}

std::string extent_text(const PlanT &plan, const plan::Extent &e) {
    if (e.kind() == ExtentKind::Size) return plan.sizes[size_t(e.value())]->name;
    return e.kind() == ExtentKind::Ranks ? "ranks" : std::to_string(e.value());
}

std::string extents_text(const PlanT &plan, const ArgumentT &a) {
    std::string s;
    for (auto &e : a.extents) s += (s.empty() ? "" : ", ") + extent_text(plan, e);
    return "[" + s + "]";
}

const halide_buffer_t *buffer(void **argv, size_t i) { return static_cast<const halide_buffer_t *>(argv[i]); }

const halide_dimension_t &dimension(const halide_buffer_t *b, size_t d) {
    return b->dim[size_t(b->dimensions) - 1 - d];
}

// Where a size has its value from: "dimension 0 of g", "argument n".
std::string source_text(const PlanT &plan, const plan::SizeT &s) {
    if (s.argument < 0) return "argument " + plan.arguments[size_t(s.parameter)]->name;
    return text("dimension %d of ", s.dimension) + plan.arguments[size_t(s.argument)]->name;
}

void read_sizes(const PlanT &plan, void **argv, std::vector<int64_t> *sizes) {
    for (auto &s : plan.sizes) {
        int64_t value = s->argument < 0
                            ? *static_cast<const int64_t *>(argv[s->parameter])
                            : dimension(buffer(argv, size_t(s->argument)), size_t(s->dimension)).extent;
        if (value < 0 || value > INT32_MAX)
            throw Refusal(text("size %s is %" PRId64 " (%s); legal are 0 to 2147483647", s->name.c_str(), value,
                               source_text(plan, *s).c_str()));
        sizes->push_back(value);
    }
}

// "n, which is 7 from dimension 0 of g", "the number of ranks, 2", "4".
std::string required_text(const PlanT &plan, const plan::Extent &e, int64_t whole) {
    if (e.kind() == ExtentKind::Ranks) return text("%" PRId64 ", the number of ranks", whole);
    if (e.kind() == ExtentKind::Constant) return text("%" PRId64, whole);
    auto &s = *plan.sizes[size_t(e.value())];
    return text("%s = %" PRId64 ", as %s", s.name.c_str(), whole, source_text(plan, s).c_str());
}

void check_dimension(const PlanT &plan, const ArgumentT &a, size_t d, const halide_dimension_t &is,
                     int64_t whole, int rank, int ranks) {
    const std::string required = required_text(plan, a.extents[d], whole);
    if (int(d) == a.sliced) {
        Block block = block_of(whole, rank, ranks);
        if (is.min == block.begin && is.extent == block.end - block.begin) return;
        refuse(a, text(": dimension %zu has min %d and extent %d; required is rank %d's slice of %s: min %" PRId64
                       " and extent %" PRId64 " (see stretto_slice)",
                       d, is.min, is.extent, rank, required.c_str(), block.begin, block.end - block.begin));
    }
    if (is.extent != whole)
        refuse(a, text(": dimension %zu has extent %d; required is %s", d, is.extent, required.c_str()));
    if (is.min != 0) refuse(a, text(": dimension %zu has min %d; required is 0", d, is.min));
}

// Kernels load and store whole vectors along the last index; a written element must have a place of its own.
void check_strides(const ArgumentT &a, const Geometry &g) {
    if (g.dims == 0 || g.elements() == 0) return;
    int last = g.dims - 1;
    if (g.extent[last] > 1 && g.stride[last] != 1)
        refuse(a, text(": dimension %d, the last, has stride %" PRId64 "; required is 1 (other dimensions may have any "
                       "stride). Copy it into a buffer whose last index is dense",
                       last, g.stride[last]));
    if (a.access == plan::Access::Input) return;
    std::vector<int> order;
    for (int d = 0; d < g.dims; d++)
        if (g.extent[d] > 1) order.push_back(d);
    auto step = [&](int d) { return g.stride[d] < 0 ? -g.stride[d] : g.stride[d]; };
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return step(x) < step(y); });
    int64_t span = 1;  // elements from the first to one after the last of the dimensions so far
    for (int d : order) {
        if (step(d) < span)
            refuse(a, text(": dimension %d has stride %" PRId64 ", so that elements share memory; it is written, "
                           "so each element needs a place of its own",
                           d, g.stride[d]));
        span += step(d) * (g.extent[d] - 1);
    }
}

struct Memory {
    uintptr_t begin, end;
};

Memory memory_of(const halide_buffer_t *b, const Geometry &g) {
    int64_t low = 0, high = 1;
    for (int d = 0; d < g.dims; d++) (g.stride[d] < 0 ? low : high) += g.stride[d] * (g.extent[d] - 1);
    uintptr_t host = reinterpret_cast<uintptr_t>(b->host);
    return {host + uintptr_t(low * g.element), host + uintptr_t(high * g.element)};
}

}  // namespace

int64_t value_of(const plan::Extent &e, const std::vector<int64_t> &sizes, int ranks) {
    return e.kind() == ExtentKind::Size    ? sizes[size_t(e.value())]
           : e.kind() == ExtentKind::Ranks ? ranks
                                           : e.value();
}

void read_shape(const PlanT &plan, void **argv, Shape *shape) {
    shape->clear();
    for (size_t i = 0; i < plan.arguments.size(); i++) {
        auto &a = *plan.arguments[i];
        if (!argv[i]) refuse(a, " is null");
        if (a.scalar) continue;
        const halide_buffer_t *b = buffer(argv, i);
        if (b->dimensions != int(a.extents.size()))
            refuse(a, text(" has %d dimensions; required are %zu: ", b->dimensions, a.extents.size()) +
                          extents_text(plan, a));
        if (b->dimensions && !b->dim) refuse(a, " has a null pointer to its dimensions");
        halide_type_t type = halide_type(a.type);
        if (b->type.code != type.code || b->type.bits != type.bits || b->type.lanes != 1)
            refuse(a, " has type " + type_text(b->type) + "; required is " + type_text(type));
        for (int d = 0; d < b->dimensions; d++) {
            shape->push_back(int64_t(b->dim[d].min) << 32 | uint32_t(b->dim[d].extent));
            shape->push_back(b->dim[d].stride);
        }
    }
    for (auto &s : plan.sizes)
        if (s->argument < 0) shape->push_back(*static_cast<const int64_t *>(argv[s->parameter]));
}

void bind_sizes(const PlanT &plan, void **argv, int rank, int ranks, std::vector<int64_t> *sizes,
                std::vector<Geometry> *arguments) {
    read_sizes(plan, argv, sizes);
    for (size_t i = 0; i < plan.arguments.size(); i++) {
        auto &a = *plan.arguments[i];
        Geometry &g = arguments->emplace_back();
        if (a.scalar) continue;
        const halide_buffer_t *b = buffer(argv, i);
        g.dims = b->dimensions;
        g.element = plan::bytes_of(a.type);
        for (int d = 0; d < g.dims; d++) {
            auto &is = dimension(b, size_t(d));
            check_dimension(plan, a, size_t(d), is, value_of(a.extents[size_t(d)], *sizes, ranks), rank, ranks);
            g.begin[d] = is.min, g.extent[d] = is.extent, g.stride[d] = is.extent > 1 ? is.stride : 1;
        }
        check_strides(a, g);
    }
}

void check_memory(const PlanT &plan, void **argv, const std::vector<Geometry> &arguments) {
    std::vector<std::pair<const ArgumentT *, Memory>> seen;
    for (size_t i = 0; i < plan.arguments.size(); i++) {
        auto &a = *plan.arguments[i];
        int64_t elements = arguments[i].elements();
        if (a.scalar || !elements) continue;
        const halide_buffer_t *b = buffer(argv, i);
        if (!b->host)
            refuse(a, text(" has no data: its host pointer is null, its extents make %" PRId64 " elements", elements));
        if (b->flags & 2) refuse(a, " is newer on a device than in main memory; copy it to the host first");
        Memory mine = memory_of(b, arguments[i]);
        for (auto &[other, theirs] : seen) {
            if (a.access == plan::Access::Input && other->access == plan::Access::Input) continue;
            if (mine.begin >= theirs.end || theirs.begin >= mine.end) continue;
            throw Refusal(text("arguments %s and %s overlap: [0x%" PRIxPTR ", 0x%" PRIxPTR ") and [0x%" PRIxPTR
                               ", 0x%" PRIxPTR "); only arguments that are not written may share memory",
                               other->name.c_str(), a.name.c_str(), theirs.begin, theirs.end, mine.begin, mine.end));
        }
        seen.push_back({&a, mine});
    }
}

uint64_t scalar_bits(plan::Type type, const void *value) {
    switch (plan::bytes_of(type)) {
    case 1: return *static_cast<const uint8_t *>(value);
    case 2: return *static_cast<const uint16_t *>(value);
    case 4: return *static_cast<const uint32_t *>(value);
    default: return *static_cast<const uint64_t *>(value);
    }
}

std::string scalar_text(plan::Type type, const void *value) {
    using plan::Type;
    uint64_t bits = scalar_bits(type, value);
    switch (type) {
    case Type::Bool: return bits ? "true" : "false";
    case Type::Int8: return text("%d", int(int8_t(bits)));
    case Type::Int16: return text("%d", int(int16_t(bits)));
    case Type::Int32: return text("%d", int32_t(bits));
    case Type::Int64: return text("%" PRId64, int64_t(bits));
    case Type::Float32: return text("%.9g", double(*static_cast<const float *>(value)));
    case Type::Float64: return text("%.17g", *static_cast<const double *>(value));
    case Type::BFloat16: {
        uint32_t wide = uint32_t(bits) << 16;
        return scalar_text(Type::Float32, &wide);
    }
    case Type::Float16: {
        int exponent = int(bits >> 10 & 31), mantissa = int(bits & 1023);
        const char *sign = bits >> 15 ? "-" : "";
        if (exponent == 31) return mantissa ? "nan" : std::string(sign) + "inf";
        double v = exponent ? (1024 + mantissa) / 1024.0 : mantissa / 512.0;
        for (int e = exponent; e < 15; e++) v /= 2;
        for (int e = exponent; e > 15; e--) v *= 2;
        return sign + text("%.5g", v);
    }
    default: return text("%" PRIu64, bits);
    }
}

}  // namespace stretto::runtime
