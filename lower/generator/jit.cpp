#include "lower/generator/jit.h"
#include <cstring>
#include <limits>
#include "collectives/execute/kernel_error.h"
#include "lang/error.h"
#include "lang/print.h"
#include "schedule/refuse.h"

namespace stretto {

struct Compiled::Contents {
    plan::PlanT plan;
    std::vector<uint8_t> bytes;  // of the plan; the allocator aligns them
    mutable View buffer;         // of the bytes
    JitLibrary library;
    explicit Contents(const Lowered &l)
        : plan(l.plan),
          bytes(l.bytes),
          buffer(bytes.data(), {int64_t(bytes.size())}),
          library(l.module, l.function, runtime::keep_kernel_error) {}
};

Compiled::Compiled(const Lowered &l) : contents(std::make_shared<Contents>(l)) {}

const plan::PlanT &Compiled::plan() const { return contents->plan; }

const std::vector<uint8_t> &Compiled::bytes() const { return contents->bytes; }

int Compiled::execute(stretto_comm_t *c, void **argv) const {
    return stretto_execute_v1(c, contents->buffer.get(), contents->library.dispatch, argv);
}

namespace {

// The bits of a scalar argument of the plan's type.
uint64_t scalar_bits(plan::Type t, double real, int64_t integer) {
    uint64_t bits = 0;
    auto put = [&](auto x) { std::memcpy(&bits, &x, sizeof x); };
    if (t == plan::Type::Float32) put(float(real));
    else if (t == plan::Type::Float64) put(real);
    else put(integer);
    return bits;
}

bool is_float(plan::Type t) { return t >= plan::Type::Float16; }

// "" if the integer type holds the value, else what is wrong: " is 300; an uint8 is from 0 to 255". too_large: past int64.
std::string unheld(plan::Type t, int64_t value, bool too_large) {
    const bool is_unsigned = t == plan::Type::Bool || t >= plan::Type::UInt8;
    const int bits = t == plan::Type::Bool ? 1 : 8 * plan::bytes_of(t);
    const int64_t low = is_unsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bits);
    const uint64_t high = std::numeric_limits<uint64_t>::max() >> (64 - bits + !is_unsigned);
    if (too_large ? uint64_t(value) <= high : value >= low && (value < 0 || uint64_t(value) <= high)) return "";
    const std::string given = too_large ? std::to_string(uint64_t(value)) : std::to_string(value);
    if (t == plan::Type::Bool) return " is " + given + "; a bool is 0 or 1";
    return " is " + given + "; an " + (is_unsigned ? "uint" : "int") + std::to_string(bits) + " is from " +
           std::to_string(low) + " to " + std::to_string(high);
}

}  // namespace

void Compiled::call(Communicator &c, std::vector<CallArgument> a) const {
    auto &p = contents->plan;
    auto refuse = [&](const std::string &why) {
        std::vector<std::string> parameters{"communicator"};
        for (auto &x : p.arguments) parameters.push_back(x->name);
        throw Error("In the call of " + p.name + ": " + why + "\nLegal: " + p.name + "(" + join(parameters) + ")");
    };
    if (a.size() != p.arguments.size())
        refuse(std::to_string(a.size()) + " arguments are given, it has " +
               std::to_string(p.arguments.size()) + ".");
    // The extent of a whole one-dimensional vector gives its size a value, which slices need for their begin.
    std::map<int64_t, int64_t> sizes;
    for (size_t s = 0; s < p.sizes.size(); s++) {
        auto &size = *p.sizes[s];
        if (size.parameter >= 0) {
            sizes[int64_t(s)] = a[size.parameter].integer;
        } else if (size.argument >= 0) {
            auto &x = a[size.argument];
            int D = int(p.arguments[size.argument]->extents.size());
            if (x.kind == CallArgument::Vector) sizes[int64_t(s)] = x.count;
            if (x.kind == CallArgument::Buffer && x.buffer && x.buffer->dimensions == D)
                sizes[int64_t(s)] = x.buffer->dim[D - 1 - size.dimension].extent;
        }
    }
    std::vector<halide_buffer_t> buffers(a.size());
    std::vector<halide_dimension_t> dims(a.size());
    std::vector<uint64_t> scalars(a.size());
    std::vector<void *> argv(a.size());
    for (size_t i = 0; i < a.size(); i++) {
        auto &want = *p.arguments[i];
        if (want.scalar) {
            if (a[i].kind != CallArgument::Scalar) refuse(want.name + " is a scalar.");
            bool real = a[i].scalar_type.is_float();
            if (real && !is_float(want.type))
                refuse(want.name + " is an integer; a floating-point value is given.");
            if (!is_float(want.type)) {
                const std::string what = unheld(want.type, a[i].integer, a[i].scalar_type.is_uint() && a[i].integer < 0);
                if (!what.empty()) refuse(want.name + what + ".");
            }
            scalars[i] = scalar_bits(want.type, real ? a[i].real : double(a[i].integer), a[i].integer);
            argv[i] = &scalars[i];
            continue;
        }
        if (a[i].kind == CallArgument::Scalar) refuse(want.name + " is a tensor; a scalar is given.");
        if (a[i].kind == CallArgument::Buffer) {
            argv[i] = a[i].buffer;
            continue;
        }
        if (want.extents.size() != 1)
            refuse(want.name + " has " + std::to_string(want.extents.size()) +
                   " dimensions; a std::vector serves for one. Pass stretto::view(data, {extents...}).");
        int64_t begin = 0, end = a[i].count;
        if (want.sliced == 0) {
            auto &e = want.extents[0];
            int64_t n = e.kind() == plan::ExtentKind::Constant ? e.value()
                        : e.kind() == plan::ExtentKind::Ranks  ? c.ranks()
                                                               : sizes[e.value()];
            stretto_slice(n, c.rank(), c.ranks(), &begin, &end);
        }
        dims[i] = halide_dimension_t(int(begin), int(a[i].count), 1);
        buffers[i] = {};
        buffers[i].host = static_cast<uint8_t *>(a[i].data);
        static uint64_t empty;  // an empty vector has no memory, a null buffer is an error
        if (!buffers[i].host && a[i].count == 0) buffers[i].host = reinterpret_cast<uint8_t *>(&empty);
        buffers[i].type = a[i].element;
        buffers[i].dimensions = 1;
        buffers[i].dim = &dims[i];
        argv[i] = &buffers[i];
    }
    check_status(execute(c.get(), argv.data()));
}

Lowered lower_for_jit(const Graph &scheduled, const std::string &schedule_text, const CompileOptions &o) {
    LowerOptions options;
    options.target = parse_target(o.target).with_feature(Halide::Target::JIT);
    options.direct_ranks = o.direct_ranks;
    options.schedule = schedule_text;
    return lower(scheduled, options);
}

Compiled compile(const Program &p, const Schedule &s, const CompileOptions &o) {
    if (!s.is_of(p))
        throw Error("compile(" + p.name() + ", s): s is a schedule of " +
                    (s.program() == p.name() ? "another program of that name" : "program " + s.program()) +
                    ".\nLegal: Schedule s(" + p.name() + ");");
    Graph scheduled = s.graph();
    scheduled.requirements = p.graph().requirements;  // also those that came after the schedule, with their sizes
    scheduled.sizes = p.graph().sizes;
    return Compiled(lower_for_jit(scheduled, s.text(), o));
}

Compiled compile(const Program &p, const CompileOptions &o) { return compile(p, Schedule(p), o); }

}  // namespace stretto
