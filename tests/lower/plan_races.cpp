// Plans executed element by element on up to 8 simulated ranks, as far as memory is concerned: who loads and stores what
// between which two waits. Written against the prepared instances, so it also covers what the runtime decides for itself: one
// shot or two phases, operands that go with the enter, waits left out.
//
// Found are: two ranks at one element without a wait between them, one of them storing; an element of scratch that is loaded
// before this call has stored it; an element that a stage stores twice or not at all; ranks that do not wait equally often.
#include <doctest/doctest.h>
#include <cstdlib>
#include <deque>
#include <iostream>
#include "../programs.h"
#include "collectives/base/tuning.h"
#include "collectives/execute/cache.h"
#include "collectives/execute/instance.h"
#include "lower/lower.h"
#include "tests/random/random_program.h"
#include "tests/random/random_schedule.h"

using namespace stretto;
using runtime::Box;
using runtime::Geometry;
using runtime::Instance;

namespace {

constexpr int calls = 3;  // both parities, and one more

// One element of memory: its last store, and who has loaded it since in which interval between waits.
struct Element {
    int stored_by = -1, stored_in = -1;
    int computed_in_call = -1, computed_by_stage = -1;  // the last that a stage stored
    int computed_buffer = -1;                           // and of which buffer: those of scratch share memory
    int loaded_in = -1;
    unsigned loaded_by = 0;
};

struct Access {
    int owner = 0, memory = 0, buffer = 0;  // the rank whose memory, and which: an argument, scratch, or operands by parity
    Geometry geometry;                      // of the buffer
    Box box;                                // within it
    size_t first = 0, step = 1;             // where in the memory its elements are
    bool stores = false, scratch = false;
    int stage = -1;  // -1: the caller
};
constexpr int arena = -1000001, published = -1000000;

template <class F>
void for_elements(const Geometry &g, Box box, F f) {
    for (int d = 0; d < box.dims; d++) {
        box.lo[d] = std::max(box.lo[d], g.begin[d]);
        box.hi[d] = std::min(box.hi[d], g.begin[d] + g.extent[d]);
        if (box.lo[d] >= box.hi[d]) return;
    }
    Geometry dense = g;
    dense.pack();
    dense.element = 1;
    Box at = box;
    for (;;) {
        f(size_t(dense.offset(at)));
        int d = box.dims - 1;
        for (; d >= 0; d--) {
            if (++at.lo[d] < box.hi[d]) break;
            at.lo[d] = box.lo[d];
        }
        if (d < 0) return;
    }
}

// Arguments of one rank for given sizes, without data.
class Arguments {
    std::deque<runtime::View> views_;
    std::deque<int64_t> scalars_;

public:
    std::vector<void *> argv;

    Arguments(const plan::PlanT &p, const std::vector<int64_t> &sizes, int rank, int ranks) {
        for (size_t i = 0; i < p.arguments.size(); i++) {
            auto &a = *p.arguments[i];
            if (a.scalar) {
                scalars_.push_back(1);
                for (size_t s = 0; s < p.sizes.size(); s++)
                    if (p.sizes[s]->argument < 0 && p.sizes[s]->parameter == int(i)) scalars_.back() = sizes[s];
                argv.push_back(&scalars_.back());
                continue;
            }
            Geometry g;
            g.dims = int(a.extents.size());
            for (int d = 0; d < g.dims; d++) {
                int64_t n = runtime::value_of(a.extents[size_t(d)], sizes, ranks);
                runtime::Block block = d == a.sliced ? runtime::block_of(n, rank, ranks) : runtime::Block{0, n};
                g.begin[d] = block.begin, g.extent[d] = block.end - block.begin;
            }
            g.element = plan::bytes_of(a.type);
            g.pack();
            auto &view = views_.emplace_back();
            view.set_type(a.type);
            view.show(g, nullptr);
            argv.push_back(&view.buffer);
        }
    }
};

class Simulation {
    const plan::PlanT &p_;
    const int ranks_;
    std::vector<std::unique_ptr<Instance>> in_;
    std::map<std::pair<int, int>, std::vector<Element>> memory_;  // by owner and memory
    std::vector<std::vector<std::vector<Access>>> done_;          // [rank][interval], in order
    std::map<int, int> call_of_interval_;

    static int operands(int parity, int buffer) { return -1 - (2 * buffer + parity); }

    const Geometry &geometry(int rank, int buffer) const { return in_[size_t(rank)]->buffers[size_t(buffer)].own; }

    // What an access can read in a stage: where it is at a loop's index what the loop runs over, else all that the owner has.
    Box loaded(const runtime::StageInstance &s, const plan::StageAccessT &a, int owner, const Box &region) const {
        Box box = geometry(owner, a.buffer).box();
        for (int d = 0; d < box.dims; d++) {
            const int loop = a.reach[size_t(d)];
            if (loop < 0) continue;
            if (loop == s.block_loop && region.hi[0] > region.lo[0]) {
                box.lo[d] = runtime::block_of(s.block_extent, int(region.lo[0]), ranks_).begin;
                box.hi[d] = runtime::block_of(s.block_extent, int(region.hi[0]) - 1, ranks_).end;
                continue;
            }
            box.lo[d] = loop < s.outputs ? region.lo[loop] : s.range[2 * loop];
            box.hi[d] = loop < s.outputs ? region.hi[loop] : s.range[2 * loop + 1];
        }
        return box;
    }

    // Where a buffer is: scratch by its place, since buffers share that.
    void place(Access &a, int rank, int buffer) const {
        const Instance &in = *in_[size_t(rank)];
        a.buffer = buffer;
        a.memory = buffer;
        a.scratch = p_.buffers[size_t(buffer)]->argument < 0;
        if (!a.scratch) return;
        auto &b = in.buffers[size_t(buffer)];
        a.memory = b.published ? published : arena;
        a.first = size_t(b.offset);
        a.step = size_t(b.own.element);
    }

    void stage(int rank, int number, int parity, std::vector<Access> &to) {
        Instance &in = *in_[size_t(rank)];
        const runtime::StageInstance &s = in.stages[size_t(number)];
        const Box &region = s.regions[size_t(rank)];
        auto access = [&](int owner, const plan::StageAccessT &a, bool stores) {
            Access done;
            done.owner = owner;
            done.geometry = geometry(owner, a.buffer);
            done.box = stores ? region : loaded(s, a, owner, region);
            done.stage = number;
            done.stores = stores;
            place(done, owner, a.buffer);
            if (in.buffers[size_t(a.buffer)].carried >= 0 && owner != rank) {
                done.memory = operands(parity, a.buffer);
                done.scratch = false;
            }
            to.push_back(done);
        };
        for (auto &a : s.plan->accesses) {
            if (a->how == plan::How::Write) continue;
            if (a->how == plan::How::Update || a->from == plan::From::Own) access(rank, *a, false);
            else if (const int source = runtime::source_of(*a, rank, ranks_); source >= 0) access(source, *a, false);
            else
                for (int q = 0; q < ranks_; q++) access(q, *a, false);
        }
        for (auto &a : s.plan->accesses)
            for (int q = 0; a->how != plan::How::Read && q < ranks_; q++)
                if (int source = runtime::source_of(*a, q, ranks_); source < 0 || source == rank) access(q, *a, true);
    }

    // A caller may do anything with its arguments between calls, and free the communicator after the last.
    void caller(int rank, bool frees, std::vector<Access> &to) {
        for (size_t b = 0; b < p_.buffers.size(); b++) {
            int argument = p_.buffers[b]->argument;
            if (argument < 0 && !frees) continue;
            Access a;
            a.owner = rank;
            place(a, rank, int(b));
            a.geometry = geometry(rank, int(b));
            a.box = a.geometry.box();
            a.stores = true;
            to.push_back(a);
        }
    }

    // Everything a rank does in three calls of the program, cut at its waits.
    void run_rank(int rank) {
        Instance &in = *in_[size_t(rank)];
        auto &intervals = done_[size_t(rank)];
        intervals.emplace_back();
        for (int call = 0; call < calls; call++) {
            const int parity = call & 1;
            auto wait = [&] {
                intervals.emplace_back();
                call_of_interval_[int(intervals.size()) - 1] = call;
            };
            caller(rank, false, intervals.back());
            for (size_t b = 0; b < in.buffers.size(); b++) {
                if (in.buffers[b].carried < 0) continue;
                Access a;
                a.owner = rank;
                a.memory = operands(parity, int(b));
                a.buffer = int(b);
                a.geometry = geometry(rank, int(b));
                a.box = a.geometry.box();
                a.stores = true;
                intervals.back().push_back(a);
            }
            wait();  // enter
            for (size_t s = 0; s < in.stages.size(); s++) {
                if (in.stages[s].barrier) wait();
                stage(rank, int(s), parity, intervals.back());
            }
            if (in.leave) wait();
        }
        caller(rank, true, intervals.back());
    }

    std::string at(const Access &a, size_t element) const {
        const std::string &name = p_.buffers[size_t(a.buffer)]->name;
        return "element " + std::to_string(element) + " of " + name + " of rank " + std::to_string(a.owner);
    }

    std::string perform(int rank, int interval, const Access &a) {
        auto &elements = memory_[{a.owner, a.memory}];
        elements.resize(std::max<size_t>(elements.size(), a.first + size_t(a.geometry.elements()) * a.step));
        std::string fault;
        const int call = call_of_interval_[interval];
        for_elements(a.geometry, a.box, [&](size_t i) {
            Element &e = elements[a.first + i * a.step];
            if (e.stored_in == interval && e.stored_by != rank)
                fault = at(a, i) + ": rank " + std::to_string(rank) + (a.stores ? " stores" : " loads") + " in stage " +
                        std::to_string(a.stage) + " what rank " + std::to_string(e.stored_by) + " stores, without a wait";
            if (a.stores) {
                if (e.loaded_in == interval && (e.loaded_by & ~(1u << rank)))
                    fault = at(a, i) + ": rank " + std::to_string(rank) + " stores in stage " +
                            std::to_string(a.stage) + " what others load, without a wait";
                if (a.stage >= 0 && e.computed_in_call == call && e.computed_by_stage == a.stage)
                    fault = at(a, i) + ": stored twice by stage " + std::to_string(a.stage);
                e.stored_by = rank, e.stored_in = interval;
                if (a.stage >= 0) e.computed_in_call = call, e.computed_by_stage = a.stage, e.computed_buffer = a.buffer;
            } else {
                if (a.scratch && (e.computed_in_call != call || e.computed_buffer != a.buffer))
                    fault = at(a, i) + ": loaded by rank " + std::to_string(rank) + " in stage " + std::to_string(a.stage) +
                            ", where this call has not stored it, or another value since";
                if (e.loaded_in != interval) e.loaded_in = interval, e.loaded_by = 0;
                e.loaded_by |= 1u << rank;
            }
        });
        return fault;
    }

public:
    Simulation(const runtime::Program &program, const std::vector<int64_t> &sizes, int ranks)
        : p_(program.plan), ranks_(ranks), done_(size_t(ranks)) {
        for (int r = 0; r < ranks; r++) {
            Arguments arguments(p_, sizes, r, ranks);
            runtime::Shape shape;
            runtime::read_shape(p_, arguments.argv.data(), &shape);
            in_.push_back(runtime::prepare(program, shape, arguments.argv.data(), r, std::vector<int>(size_t(ranks))));
        }
    }

    int stages() const { return int(in_[0]->stages.size()); }
    bool carries() const { return in_[0]->carried_bytes > 0; }
    bool two_phase() const {
        for (auto &s : in_[0]->stages)
            if (s.outputs && s.plan->loops[0].range() == plan::Range::AnySlice) return true;
        return false;
    }
    // For the test of the test: the waits of a call after the first, and leaving out number `which` of them on every rank.
    int waits() const {
        int count = in_[0]->leave;
        for (auto &s : in_[0]->stages) count += s.barrier;
        return count;
    }
    void leave_out(int which) {
        for (auto &in : in_) {
            int k = 0;
            for (auto &s : in->stages)
                if (s.barrier && k++ == which) s.barrier = false;
            if (in->leave && k == which) in->leave = false;
        }
    }

    // The first fault, or "".
    std::string run() {
        for (int r = 0; r < ranks_; r++) run_rank(r);
        for (int r = 0; r < ranks_; r++)
            if (done_[size_t(r)].size() != done_[0].size() || in_[size_t(r)]->carried_bytes != in_[0]->carried_bytes)
                return "ranks wait different numbers of times";
        for (int interval = 0; interval < int(done_[0].size()); interval++)
            for (int r = 0; r < ranks_; r++)
                for (auto &a : done_[size_t(r)][size_t(interval)]) {
                    std::string fault = perform(r, interval, a);
                    if (!fault.empty()) return fault;
                }
        return stored_everywhere();
    }

    // What the last call's stages were to store to arguments is there, on every rank.
    std::string stored_everywhere() {
        for (int r = 0; r < ranks_; r++)
            for (auto &s : in_[size_t(r)]->stages)
                for (auto &store : s.stores) {
                    if (p_.buffers[size_t(store.buffer)]->argument < 0) continue;  // loads of scratch are checked themselves
                    const Geometry &g = geometry(r, store.buffer);
                    auto &elements = memory_[{r, store.buffer}];
                    for (size_t i = 0; i < size_t(g.elements()); i++)
                        if (i >= elements.size() || elements[i].computed_in_call != calls - 1)
                            return "element " + std::to_string(i) + " of " + p_.buffers[size_t(store.buffer)]->name +
                                   " of rank " + std::to_string(r) + " is not stored";
                }
        return "";
    }
};

std::unique_ptr<runtime::Program> prepared(const Graph &scheduled) {
    LowerOptions options;
    options.target = Halide::get_host_target();
    options.direct_ranks = {2};
    auto program = std::make_unique<runtime::Program>();
    program->bytes = lower(scheduled, options).bytes;
    std::string error = plan::validate(program->bytes.data(), program->bytes.size(), &program->plan);
    if (!error.empty()) FAIL(error);
    return program;
}

struct Counts {
    int runs = 0, carried = 0, two_phase = 0;
};

void check_races(const Graph &scheduled, Counts *counts) {
    const auto program = prepared(scheduled);
    for (int ranks = 1; ranks <= 8; ranks++)
        for (int64_t n : {int64_t(0), int64_t(1), int64_t(ranks - 1), int64_t(ranks), int64_t(ranks + 1), int64_t(37),
                          int64_t(1100)}) {
            // 1100 for one size at a time: others stay small.
            for (size_t large = 0; large < std::max<size_t>(1, program->plan.sizes.size()); large++) {
                std::vector<int64_t> sizes;
                for (size_t s = 0; s < program->plan.sizes.size(); s++)
                    sizes.push_back(s == large ? n : 3 + int64_t(s));
                Simulation simulation(*program, sizes, ranks);
                INFO(ranks << " ranks, n = " << n << " for size " << large);
                std::string fault = simulation.run();
                CHECK_MESSAGE(fault.empty(), fault);
                counts->runs++;
                counts->carried += simulation.carries();
                counts->two_phase += simulation.two_phase();
            }
        }
}

}  // namespace

TEST_CASE("plans of all programs and schedules have no races and store everything") {
    Counts counts;
    for (auto &[name, make] : test::all_programs()) {
        test::ScheduledProgram p = make();
        for (auto &[schedule, s] : p.schedules) {
            INFO(name << ", " << schedule);
            check_races(s.graph(), &counts);
        }
    }
    CHECK(counts.carried > 0);
    CHECK(counts.two_phase > 0);
    std::cout << counts.runs << " simulated runs, operands carried in " << counts.carried << ", two phases in "
              << counts.two_phase << "\n";
}

TEST_CASE("so have those of random programs and schedules") {
    const char *setting = std::getenv("STRETTO_RANDOM_PROGRAMS");
    const int count = setting ? std::atoi(setting) : 24;
    Counts counts;
    for (int i = 0; i < count; i++) {
        const uint64_t seed = 5000 + uint64_t(i);
        INFO("seed " << seed);
        RandomProgram r = random_program(seed);
        Schedule s = random_schedule(r.program, seed, 12, nullptr);
        INFO(s.text());
        check_races(s.graph(), &counts);
    }
}

TEST_CASE("every wait is needed: leaving out one of them is found") {
    int found = 0;
    for (auto &[name, make] : test::all_programs()) {
        test::ScheduledProgram p = make();
        for (auto &[schedule, s] : p.schedules) {
            const auto program = prepared(s.graph());
            const std::vector<int64_t> sizes(program->plan.sizes.size(), 40);
            const int waits = Simulation(*program, sizes, 4).waits();
            for (int which = 0; which < waits; which++) {
                Simulation simulation(*program, sizes, 4);
                simulation.leave_out(which);
                INFO(name << ", " << schedule << ", wait " << which << " of " << waits);
                CHECK(simulation.run() != "");
                found++;
            }
        }
    }
    CHECK(found > 40);
    std::cout << found << " waits left out\n";
}
