// Small operands go with the enter: a rank may change them as soon as its call has returned, whatever its peers do then.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collectives/base/tuning.h"
#include "collectives/comm/comm.h"
#include "collectives/execute/instance.h"
#include "collectives/transport/mismatch.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

constexpr int64_t most = runtime::carried_bytes / int64_t(sizeof(float));

uint64_t barriers_of(stretto_comm_t *comm) {
    stretto_stats stats;
    REQUIRE(stretto_get_stats(comm, &stats) == 0);
    return stats.barriers;
}

// Ranks are late in turn, so that each has peers that are calls behind and peers that are ahead.
void be_late(int rank, int round) {
    if (round % 7 == rank) std::this_thread::sleep_for(std::chrono::microseconds(300));
}

// A rank's operand of n elements and what two programs make of it. The operand changes as soon as each has returned.
struct Operands {
    stretto_comm_t *comm;
    int64_t n;
    int rank = stretto_comm_rank(comm), ranks = stretto_comm_ranks(comm);
    int64_t lo = n * rank / ranks, hi = n * (rank + 1) / ranks;
    Floats g{n}, out{n}, slice{hi - lo};
    View vg{g.data(), {n}}, vout{out.data(), {n}}, vslice{slice.data(), {hi - lo}, {lo}};
    int64_t wrong = 0;

    void sum_and_scatter(Packed &sum, Packed &scatter, int round) {
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, i + round);
        be_late(rank, round);
        REQUIRE(sum(comm, {vg.get(), vout.get()}) == 0);
        for (int64_t i = 0; i < n; i++) wrong += out[i] != sum_of_values(ranks, i + round);
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, 3 * i + round);
        REQUIRE(scatter(comm, {vg.get(), vslice.get()}) == 0);
        for (int64_t i = 0; i < n; i++) g[i] = -1e30f;
        for (int64_t i = lo; i < hi; i++) wrong += slice[i - lo] != sum_of_values(ranks, 3 * i + round);
    }
    void check() {
        CHECK(wrong == 0);
        CHECK((g.intact() && out.intact() && slice.intact()));
    }
};

}  // namespace

TEST_CASE("operands may change once the call has returned") {
    Packed one_shot(all_reduce(1, Carried::OneShot)), scatter(reduce_scatter(1, 0));
    for (int ranks : {2, 3, 4, 5, 8})
        // In the signal line up to 12 floats, beside it up to `most`.
        for (int64_t n : {int64_t(1), int64_t(12), int64_t(13), int64_t(100), most, most + 1}) {
            INFO(ranks << " ranks, n = " << n);
            on_ranks(World::Threads, ranks, [&](stretto_comm_t *comm) {
                Operands o{comm, n};
                const uint64_t before = barriers_of(comm);
                const int rounds = 40;
                for (int round = 0; round < rounds; round++) o.sum_and_scatter(one_shot, scatter, round);
                o.check();
                // One wait a call, and one more at the end where peers load from this rank's memory.
                CHECK(barriers_of(comm) - before == uint64_t(rounds * (n <= most ? 2 : 4)));
            });
        }
}

TEST_CASE("the root of a broadcast does not wait for the others to have it") {
    Packed program(broadcast(1));
    for (int64_t n : {int64_t(5), most, most + 1})
        on_ranks(World::Threads, 3, [&](stretto_comm_t *comm) {
            const int rank = stretto_comm_rank(comm);
            Floats a(n), b(n);
            View va(a.data(), {n}), vb(b.data(), {n});
            int64_t wrong = 0;
            for (int round = 0; round < 40; round++) {
                for (int64_t i = 0; i < n; i++) a[i] = value(rank, i + round);
                be_late(rank, round);
                REQUIRE(program(comm, {va.get(), vb.get()}) == 0);
                for (int64_t i = 0; i < n; i++) a[i] = 1e30f, wrong += b[i] != value(1, i + round);
            }
            CHECK(wrong == 0);
        });
}

namespace {

// Bytes that go from rank 0 with the enter, by peer.
std::vector<uint64_t> with_enter(const plan::PlanT &plan, std::vector<void *> argv, int ranks) {
    runtime::Program program;
    program.plan = plan;
    runtime::Shape shape;
    runtime::read_shape(program.plan, argv.data(), &shape);
    auto instance = runtime::prepare(program, shape, argv.data(), 0, runtime::all_ranks(ranks));
    return instance->carried_messages.out_bytes;
}

}  // namespace

TEST_CASE("on messages small operands go with the enter, each peer's own, and may change once the call has returned") {
    constexpr int64_t most_floats = runtime::carried_message_bytes / int64_t(sizeof(float));
    Packed sum(all_reduce(1, Carried::TwoPhases)), scatter(reduce_scatter(1, 0)), gather(all_gather(1, 0));
    for (int ranks : {2, 3, 4, 5, 8})
        for (int64_t n : {int64_t(1), int64_t(ranks - 1), int64_t(100), ranks * most_floats - 1, ranks * most_floats,
                          ranks * most_floats + 1, ranks * most_floats + ranks}) {
            INFO(ranks << " ranks, n = " << n);
            on_ranks(World::Messages, ranks, [&](stretto_comm_t *comm) {
                Operands o{comm, n};
                for (int round = 0; round < 12; round++) {
                    o.sum_and_scatter(sum, scatter, round);
                    REQUIRE(gather(comm, {o.vslice.get(), o.vout.get()}) == 0);
                    for (int64_t i = o.lo; i < o.hi; i++) o.slice[i - o.lo] = -1e30f;
                    for (int64_t i = 0; i < n; i++) o.wrong += o.out[i] != sum_of_values(ranks, 3 * i + round);
                }
                o.check();
                stretto_stats stats;
                REQUIRE(stretto_get_stats(comm, &stats) == 0);
                // Of each sum, and of a scatter and a gather together: the addends of the others' slices, own results to all.
                CHECK(stats.bytes_sent == uint64_t(12 * 2 * 4 * ((n - (o.hi - o.lo)) + (ranks - 1) * (o.hi - o.lo))));
            });
        }

    // Rank 1's slice is the longer one where the length is odd.
    std::vector<float> memory(size_t(4 * most_floats));
    auto bytes_of = [&](int64_t n) {
        View vg(memory.data(), {n}), vout(memory.data() + 2 * most_floats, {n});
        return with_enter(all_reduce(1, Carried::TwoPhases), {vg.get(), vout.get()}, 2);
    };
    const auto limit = uint64_t(runtime::carried_message_bytes);
    CHECK(bytes_of(1) == std::vector<uint64_t>{0, 4});
    CHECK(bytes_of(3) == std::vector<uint64_t>{0, 8});
    CHECK(bytes_of(2 * most_floats) == std::vector<uint64_t>{0, limit});
    CHECK(bytes_of(2 * most_floats + 1) == std::vector<uint64_t>{0, 0});
}

TEST_CASE("a call on a broken communicator sends nothing, and counts nothing") {
    Packed sum(all_reduce(1, Carried::TwoPhases));
    on_ranks(World::Messages, 2, [&](stretto_comm_t *comm) {
        Floats g(100, 1), out(100);
        View vg(g.data(), {100}), vout(out.data(), {100});
        REQUIRE(sum(comm, {vg.get(), vout.get()}) == 0);
        REQUIRE(sum(comm, {stretto_comm_rank(comm) ? nullptr : vg.get(), vout.get()}) == STRETTO_INVALID);
        stretto_stats before, after;
        REQUIRE(stretto_get_stats(comm, &before) == 0);
        for (int call = 0; call < 3; call++) CHECK(sum(comm, {vg.get(), vout.get()}) == STRETTO_INVALID);
        REQUIRE(stretto_get_stats(comm, &after) == 0);
        CHECK(after.bytes_sent == before.bytes_sent);
    });
}

namespace {

std::atomic<bool> first_done{false}, computing{false}, called_again{false};
thread_local bool slow = false;

// Rank 1's kernel begins when rank 0 has gone on to another call after a failure.
int dispatch_late(int kernel, void **argv) {
    if (kernel < 0) return dispatch(kernel, argv);
    if (slow) computing = true;
    for (int i = 0; slow && !called_again && i < 60000; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return dispatch(kernel, argv);
}

}  // namespace

TEST_CASE("a call on a broken communicator leaves alone what a peer still reads") {
    Packed program(all_reduce(1, Carried::OneShot));
    on_ranks(World::Threads, 3, [&](stretto_comm_t *comm) {
        const int rank = stretto_comm_rank(comm);
        Floats g(5, float(rank + 1)), out(5);
        View vg(g.data(), {5}), vout(out.data(), {5}), plan(program.bytes().data(), {int64_t(program.bytes().size())});
        std::vector<void *> argv = {vg.get(), vout.get()};
        slow = rank == 1;
        describe_kernels(all_reduce(1, Carried::OneShot));
        REQUIRE(stretto_execute_v1(comm, plan, dispatch_late, argv.data()) == 0);
        CHECK(out[0] == 6);
        if (rank == 1) return;
        if (rank == 0) first_done = true;
        while (!first_done || !computing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (rank == 2) argv[0] = nullptr;  // fails, and waits for rank 1 as long as it may
        for (int i = 0; i < 5; i++) g[i] = 1000;
        CHECK(stretto_execute_v1(comm, plan, dispatch, argv.data()) != 0);
        // The other parity, then the one that rank 1 has still to read.
        for (int call = 0; call < 3; call++) CHECK(stretto_execute_v1(comm, plan, dispatch, argv.data()) != 0);
        if (rank == 0) called_again = true;
    });
}
