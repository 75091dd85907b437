#include "lower/generator/check.h"
#include <cmath>
#include <iomanip>
#include <sstream>
#include "lang/error.h"
#include "lang/reference/random_inputs.h"
#include "lower/emit.h"
#include "schedule/refuse.h"

namespace stretto {

namespace {

// This rank's part of a tensor, of the shape of `shape`.
HostTensor part_of(const HostTensor &whole, const HostTensor &shape) {
    HostTensor part = shape;
    int64_t at = 0;
    for_each_index(part.begin, part.extent, [&](const std::vector<int64_t> &index) {
        part.store(at++, whole.load(whole.position(index)));
    });
    return part;
}

// A HostTensor as the runtime takes it.
struct BufferOf {
    halide_buffer_t buffer{};
    std::vector<halide_dimension_t> dims;
    uint64_t nothing = 0;
    explicit BufferOf(HostTensor &t) : dims(t.extent.size()) {
        int64_t stride = 1;
        for (size_t d = t.extent.size(), j = 0; d-- > 0; j++) {
            dims[j] = halide_dimension_t(int(t.begin[d]), int(t.extent[d]), int(stride));
            stride *= std::max<int64_t>(1, t.extent[d]);
        }
        buffer.host = t.bytes.empty() ? reinterpret_cast<uint8_t *>(&nothing) : t.bytes.data();
        buffer.type = t.type;
        buffer.dimensions = int(dims.size());
        buffer.dim = dims.data();
    }
};

struct Run {
    const Graph &program, &scheduled;
    const Compiled &compiled;
    const CheckOptions &o;
    CheckReport &report;

    void compare(const std::string &name, const std::vector<HostTensor> &got,
                 const std::vector<HostTensor> &want, const std::string &where) {
        auto it = std::find_if(report.outputs.begin(), report.outputs.end(),
                               [&](auto &x) { return x.name == name; });
        if (it == report.outputs.end()) it = report.outputs.insert(it, {name, 0, 0, 0});
        for (size_t r = 0; r < got.size(); r++) {
            HostTensor expected = part_of(want[r], got[r]);
            int64_t at = 0;
            for_each_index(got[r].begin, got[r].extent, [&](const std::vector<int64_t> &index) {
                double a = got[r].get(at), b = expected.get(at);
                bool same =
                    got[r].load(at).bits == expected.load(at).bits || (std::isnan(a) && std::isnan(b));
                it->elements++;
                if (!same) {
                    double difference = std::fabs(a - b);
                    it->different++;
                    it->largest = std::isnan(difference) ? INFINITY : std::max(it->largest, difference);
                    if (report.first_difference.empty()) {
                        Names at_index;
                        for (int64_t i : index) at_index.push_back(std::to_string(i));
                        std::ostringstream s;
                        s << where << ": " << name << " on rank " << r << " at [" << join(at_index) << "] is "
                          << std::setprecision(17) << a << ", the reference has " << b;
                        report.first_difference = s.str();
                    }
                }
                at++;
            });
        }
    }

    void operator()(int ranks, const std::map<std::string, int64_t> &sizes) {
        // One run in three also has NaN, infinities, both zeros, subnormal and extreme numbers.
        RunInputs inputs = random_inputs(program, sizes, ranks, o.seed + uint64_t(report.runs), report.runs % 3 == 2 ? 12 : 0);
        RunResult expected;
        try {
            expected = interpret(program, ranks, inputs, {has_fused_multiply_add(parse_target(o.compile.target))});
        } catch (const NoElement &e) {
            // A table without entries has none to look up: the program means nothing at these sizes.
            if (!e.empty) throw;
            report.empty++;
            return;
        }
        Names parts;
        for (auto &[name, value] : sizes) parts.push_back(name + " = " + std::to_string(value));
        parts.push_back(std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"));
        const std::string where = join(parts);

        // What each rank passes: the program's arguments, cut where the schedule has made them slices.
        std::vector<std::map<std::string, HostTensor>> memory(ranks);
        for (auto &a : scheduled.arguments) {
            if (a.scalar) continue;
            for (int r = 0; r < ranks; r++) {
                HostTensor t = make_host_tensor(scheduled, a, sizes, r, ranks);
                auto given = inputs.tensors.find(a.name);
                memory[r][a.name] = given == inputs.tensors.end() ? t : part_of(given->second[r], t);
            }
        }
        std::vector<int> status(ranks, 0);
        std::vector<std::string> text(ranks);
        run(o.world(ranks), [&](Communicator &c) {
            int r = c.rank();
            std::vector<std::unique_ptr<BufferOf>> buffers;
            std::vector<uint64_t> scalars;
            scalars.reserve(scheduled.arguments.size() + scheduled.sizes.size());
            std::vector<void *> argv;
            for (auto &a : scheduled.arguments) {
                if (a.scalar) {
                    scalars.push_back(inputs.scalars.at(a.name).value.bits);
                    argv.push_back(&scalars.back());
                } else {
                    buffers.push_back(std::make_unique<BufferOf>(memory[r].at(a.name)));
                    argv.push_back(&buffers.back()->buffer);
                }
            }
            for (auto &s : size_parameters(scheduled)) {
                scalars.push_back(uint64_t(sizes.at(s)));
                argv.push_back(&scalars.back());
            }
            status[r] = compiled.execute(c.get(), argv.data());
            if (status[r]) text[r] = stretto_last_error();
        });
        report.runs++;
        for (int r = 0; r < ranks; r++) {
            if (!expected.failed_requirement.empty() && status[r] == STRETTO_REQUIRE) continue;
            if (!expected.failed_requirement.empty())
                throw Error(where + ": rank " + std::to_string(r) + " returned " +
                            stretto_status_name(status[r]) + ", but the requirement '" +
                            expected.failed_requirement + "' does not hold");
            if (status[r])
                throw RuntimeError(status[r], where + ": rank " + std::to_string(r) + ": " + text[r]);
        }
        if (!expected.failed_requirement.empty()) {
            report.refused++;
            report.requirement = expected.failed_requirement;
            return;
        }
        for (auto &[name, tensors] : expected.arguments) {
            std::vector<HostTensor> got;
            for (int r = 0; r < ranks; r++) got.push_back(memory[r].at(name));
            compare(name, got, tensors, where);
        }
        // Inputs are as they were.
        for (auto &a : scheduled.arguments) {
            if (a.scalar || a.access != Access::Input) continue;
            for (int r = 0; r < ranks; r++)
                if (!same_bits(memory[r].at(a.name),
                               part_of(inputs.tensors.at(a.name)[r], memory[r].at(a.name))))
                    throw Error(where + ": input " + a.name + " was changed on rank " + std::to_string(r));
        }
    }
};

}  // namespace

bool CheckReport::ok() const {
    auto same = [](const Output &x) { return x.elements > 0 && x.different == 0; };
    return !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), same);
}

std::string to_string(const CheckReport &r) {
    std::ostringstream o;
    for (auto &x : r.outputs)
        o << x.name << ": " << x.different << " of " << x.elements << " elements differ, largest difference "
          << x.largest << "\n";
    o << r.runs << " runs" << (r.first_difference.empty() ? "" : "; first: " + r.first_difference) << "\n";
    if (r.refused) o << r.refused << " of them refused: the requirement '" << r.requirement << "' does not hold\n";
    if (r.empty) o << r.empty << " left out: they would read elements of a tensor that has none\n";
    Names nothing;
    for (auto &x : r.outputs)
        if (!x.elements) nothing.push_back(x.name);
    if (r.outputs.empty() || !nothing.empty())
        o << "Nothing " << (nothing.empty() ? "" : "of " + join(nothing) + " ") << "was compared.\n"
          << "Legal: sizes at which tensors have elements and the requirements hold, as --check-sizes 8,1000\n"
          << "(CheckOptions::sizes); arguments with a range in which they hold, as lr.range(0.1, 0.9)\n";
    return o.str();
}

namespace {

using Sizes = std::map<std::string, int64_t>;

// v for size s of the program, and for the others small ones. Where the requirements do not hold there, but do for a larger v
// (which stays as it is if it is `given`) or for other values of the others, those; if they never do, where most of them do.
Sizes sizes_for(const Graph &program, int s, int64_t v, int P, bool given) {
    auto sizes = [&](int64_t value, int64_t more, bool equal) {
        Sizes all;
        for (int t = 0; t < int(program.sizes.size()); t++)
            all[program.sizes[size_t(t)]] = t == s || equal ? value : 3 + 2 * ((t + P) % 3) + more;
        return all;
    };
    auto failed = requirements_of(program, P);
    Sizes best;
    size_t fewest = SIZE_MAX;
    for (int64_t more = 0; more <= 1 << 16; more = more < 64 ? more + 1 : 2 * more)
        for (int other = 0; other < 3; other++) {
            Sizes tried = sizes(given ? v : v + more, other == 1 ? more : 0, other == 2);
            const size_t failures = failed(random_scalars(program, tried, P, 1)).size();
            if (failures < fewest) best = tried;
            fewest = std::min(fewest, failures);
            if (!fewest) return best;
        }
    return best;
}

}  // namespace

CheckReport check_lowered(const Graph &program, const Graph &scheduled, const Compiled &compiled,
                          const CheckOptions &o) {
    CheckReport report;
    Run run{program, scheduled, compiled, o, report};
    for (int P : o.ranks) {
        std::vector<int64_t> values = o.sizes;
        if (values.empty()) values = {0, 1, P - 1, P, P + 1, 1009};
        // One past the size from which slices are stored with streaming stores (2^18 elements a rank).
        if (o.streaming_size) values.push_back((int64_t(1) << 18) * P + 1);
        int count = int(program.sizes.size());
        if (count == 0) run(P, {});
        // Every value for every size; the others stay small, since the reference walks each element.
        for (int64_t v : values)
            for (int s = 0; s < count; s++) run(P, sizes_for(program, s, v, P, !o.sizes.empty()));
    }
    return report;
}

CheckReport check(const Program &p, const Schedule &s, const CheckOptions &o) {
    return check_lowered(p.graph(), s.graph(), compile(p, s, o.compile), o);
}

CheckReport check(const Program &p, const Schedule &s, const std::vector<int> &ranks) {
    CheckOptions o;
    o.ranks = ranks;
    return check(p, s, o);
}

}  // namespace stretto
