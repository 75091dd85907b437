// Plans with one to three damaged fields, with a right checksum, are called: each is refused with a text on every rank, or runs
// without touching memory that is not its own, without a race, hang or leak (the sanitizers' builds look). The kernels are
// stand-ins that do what the good plan promises of theirs: they read and write every element of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "collectives/execute/geometry.h"
#include "collectives/plan/signature.h"
#include "tests/plan/mutations.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

// A plan may ask for more memory than there is: that is an error of the call.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {

struct Good {
    plan::PlanT plan;
    std::vector<plan::Signature> signatures;
    std::map<int, plan::KernelUse> uses;  // by kernel

    explicit Good(const plan::PlanT &p) : plan(p), signatures(plan::signatures(plan)) {
        for (auto &use : plan::kernel_uses(plan)) uses.emplace(use.kernel->id, use);
    }
    Good(const Good &) = delete;
};

thread_local const Good *good = nullptr;  // whose kernels are called
thread_local uint8_t seen = 0;            // so that nothing read is dropped

struct Range {
    int64_t lo, hi;
};

// The elements of a view with these indices, row-major.
void touch(const halide_buffer_t &b, plan::Type type, const std::vector<Range> &box, bool reads, bool writes) {
    const int bytes = plan::bytes_of(type), dims = int(box.size());
    std::vector<int64_t> at;
    for (auto &r : box) {
        if (r.lo >= r.hi) return;
        at.push_back(r.lo);
    }
    for (;;) {
        int64_t offset = 0;
        for (int d = 0; d < dims; d++) offset += (at[size_t(d)] - b.dim[dims - 1 - d].min) * b.dim[dims - 1 - d].stride;
        uint8_t *element = b.host + offset * bytes;
        for (int k = 0; k < bytes; k++) {
            if (reads) seen = uint8_t(seen + element[k]);
            if (writes) element[k] = 1;
        }
        int d = dims - 1;
        while (d >= 0 && ++at[size_t(d)] == box[size_t(d)].hi) at[size_t(d)] = box[size_t(d)].lo, d--;
        if (d < 0) return;
    }
}

void read_scalar(const void *value, plan::Type type) {
    for (int k = 0; k < plan::bytes_of(type); k++) seen = uint8_t(seen + static_cast<const uint8_t *>(value)[k]);
}

int scalars(const plan::PlanT &p, void **argv) {
    for (auto &a : p.arguments)
        if (a->scalar) read_scalar(*argv++, a->type);
    argv += p.sizes.size() + 2;
    for (auto &s : p.scalars) touch(*static_cast<halide_buffer_t *>(*argv++), s->type, {}, false, true);
    return 0;
}

int stand_in(int kernel, void **argv) {
    if (kernel < 0) {
        const size_t k = size_t(-1 - kernel);
        return k < good->signatures.size() && !good->signatures[k].text.empty() ? plan::hash_of(good->signatures[k]) : 0;
    }
    const plan::PlanT &p = good->plan;
    if (kernel == p.cpu->scalar_kernel) return scalars(p, argv);
    const plan::KernelUse &use = good->uses.at(kernel);
    const plan::StageT &s = *use.stage;
    auto integer = [&] { return int64_t(*static_cast<int32_t *>(*argv++)); };
    auto view = [&]() -> halide_buffer_t & { return *static_cast<halide_buffer_t *>(*argv++); };
    std::vector<Range> loops;
    for (size_t d = 0; d < s.loops.size(); d++) {
        const int64_t lo = integer();
        loops.push_back({lo, integer()});
    }
    std::vector<Range> results(loops.begin(), loops.begin() + s.outputs);
    if (s.kind == plan::StageKind::Fold && !loops.empty()) loops.back().hi = std::max(loops.back().hi, loops.back().lo + 1);
    const bool first = !(use.sum || s.rides) || integer();
    for (int i : use.kernel->scalars) read_scalar(*argv++, p.scalars[size_t(i)]->type);
    for (int i : use.kernel->loads) {
        auto &a = *s.accesses[size_t(i)];
        const bool each = a.from == plan::From::Each && a.how == plan::How::Read && !use.sum;
        for (int q = 0; q < (each ? use.ranks : 1); q++) {
            halide_buffer_t &b = view();
            std::vector<Range> box;
            for (size_t d = 0; d < a.reach.size(); d++) {
                auto &dim = b.dim[a.reach.size() - 1 - d];
                box.push_back(a.reach[d] < 0 ? Range{dim.min, dim.min + dim.extent} : loops[size_t(a.reach[d])]);
            }
            touch(b, p.buffers[size_t(a.buffer)]->type, box, true, false);
        }
    }
    for (int i : use.kernel->sums) touch(view(), use.all->sums[size_t(i)]->type, results, true, false);
    if (use.sum) {
        touch(view(), use.sum->type, results, !first, true);
        return 0;
    }
    auto type_of = [&](const plan::StageAccessT &a) { return p.buffers[size_t(a.buffer)]->type; };
    for (auto &a : s.accesses)
        if (s.rides && a->how != plan::How::Read) touch(view(), type_of(*a), results, !first, false);
    for (auto &a : s.accesses)
        if (a->how != plan::How::Read) touch(view(), type_of(*a), results, a->how == plan::How::Update, true);
    for (auto &a : s.accesses)
        for (int q = 1; use.to_peers && a->how != plan::How::Read && a->from == plan::From::Each && q < use.ranks; q++)
            touch(view(), type_of(*a), results, false, true);
    return 0;
}

// One rank's arguments as the plan describes them, each a block of the heap of its own.
class Arguments {
public:
    std::vector<void *> argv;

    Arguments(const plan::PlanT &p, const std::vector<int64_t> &sizes, int rank, int ranks) {
        for (auto &a : p.arguments) {
            if (a->scalar) {
                int64_t value = 1;
                for (size_t s = 0; s < p.sizes.size(); s++) {
                    auto &size = *p.sizes[s];
                    if (size.argument < 0 && p.arguments[size_t(size.parameter)] == a) value = sizes[s % sizes.size()];
                }
                blocks_.emplace_back(new uint8_t[size_t(plan::bytes_of(a->type))]);
                memcpy(blocks_.back().get(), &value, size_t(plan::bytes_of(a->type)));
                argv.push_back(blocks_.back().get());
                continue;
            }
            std::vector<int64_t> extents, mins;
            int64_t bytes = plan::bytes_of(a->type);
            for (size_t d = 0; d < a->extents.size(); d++) {
                auto &e = a->extents[d];
                const int64_t n = e.kind() == plan::ExtentKind::Size    ? sizes[size_t(e.value()) % sizes.size()]
                                  : e.kind() == plan::ExtentKind::Ranks ? ranks
                                                                        : std::min<int64_t>(e.value(), 100);
                int64_t lo = 0, hi = n;
                if (int(d) == a->sliced) stretto_slice(n, rank, ranks, &lo, &hi);
                mins.push_back(lo);
                extents.push_back(hi - lo);
                bytes *= hi - lo;
            }
            if (bytes > 1 << 20) bytes = 0, extents.assign(extents.size(), 0);  // refused: not the extents
            blocks_.emplace_back(new uint8_t[size_t(bytes)]());
            views_.emplace_back(reinterpret_cast<float *>(blocks_.back().get()), extents, mins);
            views_.back().get()->type = runtime::halide_type(a->type);
            argv.push_back(views_.back().get());
        }
    }

private:
    std::vector<std::unique_ptr<uint8_t[]>> blocks_;
    std::deque<View> views_;  // argv points to them
};

struct Counts {
    int not_loaded = 0, refused = 0, ran = 0;
    std::set<std::string> broken;  // what should not be
};

// Calls it twice, on every rank.
void call(const Good &g, const std::vector<uint8_t> &bytes, const plan::PlanT &p, World world, int ranks, int64_t n,
          Counts *counts) {
    std::vector<int> statuses(size_t(ranks), 0);
    std::vector<std::string> texts(size_t(ranks), "");
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        const int rank = stretto_comm_rank(comm);
        good = &g;
        Arguments arguments(p, {n, 3}, rank, ranks);
        View plan_bytes(bytes.data(), {int64_t(bytes.size())});
        for (int k = 0; k < 2 && !statuses[size_t(rank)]; k++)
            statuses[size_t(rank)] = stretto_execute_v1(comm, plan_bytes, stand_in, arguments.argv.data());
        if (statuses[size_t(rank)]) texts[size_t(rank)] = stretto_last_error();
    });
    int failed = 0;
    for (int r = 0; r < ranks; r++) {
        const int status = statuses[size_t(r)];
        failed += status != 0;
        const int legal[] = {STRETTO_OK, STRETTO_INVALID, STRETTO_BAD_PLAN, STRETTO_NO_MEMORY};
        const bool told = !status || !texts[size_t(r)].empty();
        if (!told || !std::count(std::begin(legal), std::end(legal), status)) counts->broken.insert(texts[size_t(r)]);
    }
    if (failed && failed < ranks) counts->broken.insert("only some ranks failed: " + texts[0] + texts[1]);
    (failed ? counts->refused : counts->ran)++;
}

std::vector<plan::PlanT> good_plans() {
    std::vector<plan::PlanT> list;
    for (int dims : {1, 2}) {
        for (Carried how : {Carried::Auto, Carried::OneShot, Carried::TwoPhases}) list.push_back(all_reduce(dims, how));
        list.push_back(reduce_scatter(dims, dims - 1));
        list.push_back(all_gather(dims, 0));
    }
    for (auto &p : {all_reduces(2), broadcast(1), left_of(1), fused_momentum(), block_sums(true), block_sums(false),
                    whole_sum(), shifted_and_gathered(), riding_sums()})
        list.push_back(p);
    return list;
}

const int ranks_to_try[] = {1, 2, 3, 4};
const int64_t lengths_to_try[] = {0, 1, 3, 5, 9, 40};

}  // namespace

TEST_CASE("the stand-ins run every plan as it is") {
    for (auto &p : good_plans()) {
        const Good g(p);
        Counts counts;
        for (World world : every_world)
            for (int ranks : ranks_to_try)
                for (int64_t n : lengths_to_try) call(g, plan::pack(p), p, world, ranks, n, &counts);
        for (auto &text : counts.broken) FAIL_CHECK(p.name << ": " << text);
        // left_of and broadcast read of rank 1, which one rank alone has not.
        CHECK((counts.refused == 0 || counts.refused == 3 * 6));
    }
}

TEST_CASE("D4, D5: damaged plans are refused or run within their memory") {
    const char *setting = std::getenv("STRETTO_MUTATED_PLANS");
    const int count = setting ? std::atoi(setting) : 10000;
    std::mt19937 random(3);
    auto any = [&](auto &list) { return list[random() % std::size(list)]; };
    std::vector<std::unique_ptr<Good>> goods;
    std::vector<Mutations> mutations;
    for (auto &p : good_plans()) {
        goods.push_back(std::make_unique<Good>(p));
        mutations.emplace_back(p);
    }
    Counts counts;
    std::map<std::string, int> changed;
    for (int round = 0; round < count; round++) {
        const size_t which = random() % goods.size();
        std::vector<std::string> fields;
        const std::vector<uint8_t> bytes = mutations[which].mutated(random, &fields);
        for (auto &f : fields) changed[f]++;
        plan::PlanT p;
        if (const std::string why = plan::validate(bytes.data(), bytes.size(), &p); !why.empty()) {
            counts.not_loaded++;
            if (why.find(": ") == why.npos) counts.broken.insert(why);
            continue;
        }
        const size_t before = counts.broken.size();
        call(*goods[which], bytes, p, any(every_world), any(ranks_to_try), any(lengths_to_try), &counts);
        if (counts.broken.size() == before) continue;
        std::string what;
        for (auto &f : fields) what += " " + f;
        MESSAGE("round ", round, ", ", p.name, ":", what);
    }
    for (auto &text : counts.broken) FAIL_CHECK(text);
    MESSAGE(counts.not_loaded, " were not loaded, ", counts.refused, " refused, ", counts.ran, " ran");
    CHECK(counts.not_loaded > count / 10);
    CHECK(counts.refused > count / 100);
    CHECK(counts.ran > count / 10);
    // Every field of the schema, but lists that are empty in these plans: who sums over ranks reads no sum, or plan scalar.
    const std::set<std::string> empty = {"cpu.stages.direct.kernel.sums", "cpu.stages.direct.to_peers.sums",
                                         "cpu.stages.sums.kernel.sums", "cpu.stages.sums.kernel.scalars"};
    for (auto &field : Mutations::all_fields())
        if (count >= 10000) CHECK_MESSAGE((changed[field] > 0) != (empty.count(field) > 0), field);
}

TEST_CASE("D4: every pair of enumerations and flags of stages, changed") {
    Counts counts;
    for (auto &good_plan : good_plans()) {
        const Good g(good_plan);
        Mutations(good_plan).for_each_pair([&](const std::vector<uint8_t> &bytes) {
            plan::PlanT p;
            if (plan::validate(bytes.data(), bytes.size(), &p).empty()) call(g, bytes, p, World::Threads, 2, 5, &counts);
            else counts.not_loaded++;
        });
    }
    for (auto &text : counts.broken) FAIL_CHECK(text);
    MESSAGE(counts.not_loaded, " were not loaded, ", counts.refused, " refused, ", counts.ran, " ran");
    CHECK(counts.refused > 10);
    CHECK(counts.ran > 10);
}
