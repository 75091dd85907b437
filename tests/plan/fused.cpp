// Reduce-scatter, compute and all-gather in one sweep, in place, with plan scalars and a require.
#include <doctest/doctest.h>

#include <atomic>

#include "collectives/comm/comm.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

void check_fused(World world, int ranks, int64_t n) {
    Packed program(fused_momentum());
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        int rank = stretto_comm_rank(comm);
        int64_t lo, hi;
        stretto_slice(n, rank, ranks, &lo, &hi);
        Floats g(n), p(n), m(hi - lo);
        std::vector<float> expected_p(static_cast<size_t>(n)), expected_m(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; i++) {
            g[i] = value(rank, i);
            p[i] = expected_p[size_t(i)] = value(99, i);
            expected_m[size_t(i)] = value(98, i);
            if (i >= lo && i < hi) m[i - lo] = value(98, i);
        }
        int64_t wrong = 0;
        for (int step = 0; step < 3; step++) {
            float lr = 0.1f * float(step + 1);
            View vg(g.data(), {n}), vp(p.data(), {n}), vm(m.data(), {hi - lo}, {lo});
            int status = program(comm, {vg.get(), vp.get(), vm.get(), &lr});
            if (status) MESSAGE(std::string(stretto_last_error()));
            REQUIRE(status == 0);
            for (size_t i = 0; i < size_t(n); i++) {
                expected_m[i] = 0.5f * expected_m[i] + sum_of_values(ranks, int64_t(i));
                expected_p[i] = expected_p[i] - lr / 2 * expected_m[i];
                wrong += p[int64_t(i)] != expected_p[i];
                if (int64_t(i) >= lo && int64_t(i) < hi) wrong += m[int64_t(i) - lo] != expected_m[i];
            }
        }
        CHECK(wrong == 0);
        CHECK(p.intact());
        CHECK(m.intact());
    });
}

}  // namespace

TEST_CASE("fused momentum step") {
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (int64_t n : lengths(ranks)) {
                CAPTURE(int(world));
                CAPTURE(ranks);
                CAPTURE(n);
                check_fused(world, ranks, n);
            }
}

TEST_CASE("slices long enough to be stored past the cache, aligned and not") {
    for (int ranks : {2, 3})
        for (int64_t n : {int64_t(ranks) << 18, (int64_t(ranks) << 18) + 1, int64_t(1) << 20})
            check_fused(World::Threads, ranks, n);
}

TEST_CASE("messages carry 2 (P - 1) / P n elements a rank") {
    for (int ranks : {2, 3, 5}) {
        const int64_t n = 100000 * ranks;
        Packed program(fused_momentum());
        on_ranks(World::Messages, ranks, [&](stretto_comm_t *comm) {
            int64_t lo, hi;
            stretto_slice(n, stretto_comm_rank(comm), ranks, &lo, &hi);
            std::vector<float> g(size_t(n), 1), p(size_t(n), 1), m(size_t(hi - lo), 1);
            float lr = 1;
            View vg(g.data(), {n}), vp(p.data(), {n}), vm(m.data(), {hi - lo}, {lo});
            REQUIRE(program(comm, {vg.get(), vp.get(), vm.get(), &lr}) == 0);
            stretto_stats stats;
            REQUIRE(stretto_get_stats(comm, &stats) == 0);
            CHECK(stats.bytes_sent == uint64_t(2 * (ranks - 1)) * 100000 * 4);
        });
    }
}

TEST_CASE("a require that does not hold is an error on every rank, and the communicator stays in use") {
    for (World world : every_world)
        for (int ranks : {1, 2, 4}) {
            Packed program(fused_momentum());
            on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                int64_t n = 10, lo, hi;
                stretto_slice(n, stretto_comm_rank(comm), ranks, &lo, &hi);
                Floats g(n, 1), p(n, 5), m(hi - lo, 1);
                float lr = -0.25f;
                View vg(g.data(), {n}), vp(p.data(), {n}), vm(m.data(), {hi - lo}, {lo});
                CHECK(program(comm, {vg.get(), vp.get(), vm.get(), &lr}) == STRETTO_REQUIRE);
                CHECK(std::string(stretto_last_error()) == "momentum: lr must be positive (lr = -0.25)");
                CHECK(p[0] == 5);
                lr = 1;
                CHECK(program(comm, {vg.get(), vp.get(), vm.get(), &lr}) == 0);
                CHECK(p[0] == 5 - 0.5f * (0.5f + float(ranks)));
            });
        }
}

TEST_CASE("scalars and sizes that differ between ranks are an error on every rank") {
    for (World world : every_world)
        for (bool size : {false, true}) {
            Packed program(fused_momentum());
            on_ranks(world, 3, [&](stretto_comm_t *comm) {
                int rank = stretto_comm_rank(comm);
                int64_t n = size && rank == 1 ? 12 : 10, lo, hi;
                stretto_slice(n, rank, 3, &lo, &hi);
                Floats g(n, 1), p(n, 5), m(hi - lo, 1);
                float lr = !size && rank == 2 ? 0.5f : 0.25f;
                View vg(g.data(), {n}), vp(p.data(), {n}), vm(m.data(), {hi - lo}, {lo});
                CHECK(program(comm, {vg.get(), vp.get(), vm.get(), &lr}) == STRETTO_MISMATCH);
                std::string text = stretto_last_error();
                CHECK(text == (size ? "ranks differ in size n of momentum: rank 1 has 12, ranks 0, 2 have 10"
                                    : "ranks differ in scalar lr of momentum: rank 2 has 0.5, ranks 0, 1 have 0.25"));
                CHECK(p[0] == 5);
            });
        }
}

TEST_CASE("where sizes differ nothing of a peer's arrives, and arguments stay as they are") {
    for (World world : every_world)
        for (auto [mine, others] : {std::pair<int64_t, int64_t>{9, 100000}, {100000, 9}, {9, 10}}) {
            Packed gather(all_gather(1, 0)), sums(block_sums(false));
            on_ranks(world, 2, [&, mine = mine, others = others](stretto_comm_t *comm) {
                int rank = stretto_comm_rank(comm);
                int64_t n = rank ? others : mine, lo, hi;
                stretto_slice(n, rank, 2, &lo, &hi);
                Floats x(hi - lo, 1), out(n, 5);
                View vx(x.data(), {hi - lo}, {lo}), vout(out.data(), {n});
                CHECK(gather(comm, {vx.get(), vout.get()}) == STRETTO_MISMATCH);
                int64_t wrong = 0;
                for (int64_t i = 0; i < n; i++) wrong += out[i] != 5;
                CHECK(wrong == 0);
                CHECK(out.intact());
            });
            on_ranks(world, 2, [&, mine = mine, others = others](stretto_comm_t *comm) {
                int64_t n = stretto_comm_rank(comm) ? others : mine;
                Floats x(n, 1), total(1, 5);
                View vx(x.data(), {n}), vtotal(total.data(), {});
                CHECK(sums(comm, {vx.get(), vtotal.get()}) == STRETTO_MISMATCH);
                CHECK(total[0] == 5);
            });
        }
}

TEST_CASE("a kernel that fails is named, on every rank") {
    for (World world : every_world)
        for (int ranks : {1, 2, 3}) {
            plan::PlanT broken = fused_momentum();
            broken.cpu->stages[0]->kernel->id = failing;
            broken.cpu->stages[0]->direct.clear();
            Packed program(broken);
            std::atomic<int> named{0};
            on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                int64_t n = 10, lo, hi;
                stretto_slice(n, stretto_comm_rank(comm), ranks, &lo, &hi);
                Floats g(n, 1), p(n, 5), m(hi - lo, 1);
                float lr = 1;
                View vg(g.data(), {n}), vp(p.data(), {n}), vm(m.data(), {hi - lo}, {lo});
                CHECK(program(comm, {vg.get(), vp.get(), vm.get(), &lr}) == STRETTO_KERNEL);
                std::string text = stretto_last_error();
                named += text.find("momentum: kernel " + std::to_string(failing) +
                                   " of stage gsum, m1, p1 returned -7") != text.npos;
            });
            CHECK(named == ranks);
        }
}
