// All-reduce in each of its ways, reduce-scatter, all-gather, broadcast: on threads and on messages, for all the numbers
// of ranks and sizes at which slices are empty, uneven, short or long.
#include <doctest/doctest.h>

#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

void check_all_reduce(World world, int ranks, Carried how, int64_t n) {
    Packed program(all_reduce(1, how));
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        int rank = stretto_comm_rank(comm);
        Floats g(n), out(n);
        for (int64_t i = 0; i < n; i++) g[i] = value(rank, i);
        for (int call = 0; call < 3; call++) {  // the second runs what the first prepared
            for (int64_t i = 0; i < n; i++) out[i] = -1;
            View vg(g.data(), {n}), vout(out.data(), {n});
            int status = program(comm, {vg.get(), vout.get()});
            if (status) MESSAGE(std::string(stretto_last_error()));
            REQUIRE(status == 0);
        }
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; i++) wrong += out[i] != sum_of_values(ranks, i) || g[i] != value(rank, i);
        CHECK(wrong == 0);
        CHECK(out.intact());
        CHECK(g.intact());
    });
}

// A matrix of B rows of H, at a row stride of `pitch` elements.
void check_2d(World world, int ranks, int d, int64_t B, int64_t H, int64_t pitch) {
    Packed all(all_reduce(2, Carried::Auto)), one(all_reduce(2, Carried::OneShot)),
        two(all_reduce(2, Carried::TwoPhases));
    Packed scatter(reduce_scatter(2, d)), gather(all_gather(2, d));
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        int rank = stretto_comm_rank(comm);
        Floats g(B * pitch), out(B * pitch);
        for (int64_t k = 0; k < B * pitch; k++) g[k] = value(rank, k), out[k] = -1;
        auto matrix = [&](Floats &f) {
            View v(f.data(), {B, H});
            v.get()->dim[1].stride = int32_t(pitch);
            return v;
        };
        auto wrong = [&](int64_t b0, int64_t b1, int64_t h0, int64_t h1) {
            int64_t bad = 0;
            for (int64_t b = 0; b < B; b++)
                for (int64_t h = 0; h < pitch; h++) {
                    bool inside = b >= b0 && b < b1 && h >= h0 && h < h1 && h < H;
                    bad += out[b * pitch + h] != (inside ? sum_of_values(ranks, b * pitch + h) : -1);
                }
            return bad;
        };
        for (Packed *p : {&all, &one, &two}) {
            for (int64_t k = 0; k < B * pitch; k++) out[k] = -1;
            View vg = matrix(g), vout = matrix(out);
            int status = (*p)(comm, {vg.get(), vout.get()});
            if (status) MESSAGE(std::string(stretto_last_error()));
            REQUIRE(status == 0);
            CHECK(wrong(0, B, 0, H) == 0);
        }
        // The slice that reduce-scatter leaves, then all of them gathered.
        for (int64_t k = 0; k < B * pitch; k++) out[k] = -1;
        int64_t lo, hi;
        stretto_slice(d == 0 ? B : H, rank, ranks, &lo, &hi);
        View vg = matrix(g), slice = matrix(out);
        halide_dimension_t &cut = slice.get()->dim[1 - d];
        cut.min = int32_t(lo), cut.extent = int32_t(hi - lo);
        slice.get()->host += lo * cut.stride * int64_t(sizeof(float));
        REQUIRE(scatter(comm, {vg.get(), slice.get()}) == 0);
        CHECK((d == 0 ? wrong(lo, hi, 0, H) : wrong(0, B, lo, hi)) == 0);
        Floats own(B * pitch), gathered(B * pitch);
        for (int64_t k = 0; k < B * pitch; k++) own[k] = out[k], gathered[k] = -1;
        View vown = matrix(own), vgathered = matrix(gathered);
        vown.get()->dim[1 - d] = cut;
        vown.get()->host += lo * cut.stride * int64_t(sizeof(float));
        REQUIRE(gather(comm, {vown.get(), vgathered.get()}) == 0);
        for (int64_t k = 0; k < B * pitch; k++) out[k] = gathered[k];
        CHECK(wrong(0, B, 0, H) == 0);
        CHECK(gathered.intact());
    });
}

void check_broadcast(World world, int ranks, int root, int64_t n) {
    Packed program(broadcast(root));
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        Floats a(n), b(n);
        for (int64_t i = 0; i < n; i++) a[i] = value(stretto_comm_rank(comm), i);
        View va(a.data(), {n}), vb(b.data(), {n});
        REQUIRE(program(comm, {va.get(), vb.get()}) == 0);
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; i++) wrong += b[i] != value(root, i);
        CHECK(wrong == 0);
        CHECK(b.intact());
    });
}

void check_whole_sum(World world, int ranks, int64_t n) {
    Packed program(whole_sum());
    on_ranks(world, ranks, [&](stretto_comm_t *comm) {
        Floats g(n);
        for (int64_t i = 0; i < n; i++) g[i] = value(stretto_comm_rank(comm), i);
        float total = -1, expected = 0;
        for (int r = 0; r < ranks; r++)
            for (int64_t i = 0; i < n; i++) expected += value(r, i);
        View vg(g.data(), {n}), vtotal = view(&total);
        int status = program(comm, {vg.get(), vtotal.get()});
        if (status) MESSAGE(std::string(stretto_last_error()));
        CHECK(status == 0);
        CHECK(total == expected);
    });
}

}  // namespace

TEST_CASE("all-reduce gives every rank the sum in rank order") {
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (Carried how : {Carried::Auto, Carried::OneShot, Carried::TwoPhases})
                for (int64_t n : lengths(ranks)) {
                    CAPTURE(int(world));
                    CAPTURE(ranks);
                    CAPTURE(int(how));
                    CAPTURE(n);
                    check_all_reduce(world, ranks, how, n);
                }
}

TEST_CASE("matrices, on either dimension, dense and with padded rows") {
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (int d : {0, 1})
                for (auto [B, H] : {std::pair<int64_t, int64_t>{33, 5}, {3, 1000}, {1, 1}, {70, 301}, {0, 5}})
                    for (int64_t pitch : {H, H + 3}) {
                        CAPTURE(int(world));
                        CAPTURE(ranks);
                        CAPTURE(d);
                        CAPTURE(B);
                        CAPTURE(H);
                        CAPTURE(pitch);
                        check_2d(world, ranks, d, B, H, pitch);
                    }
}

TEST_CASE("broadcast from each rank") {
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (int root = 0; root < ranks; root++)
                for (int64_t n : {int64_t(0), int64_t(1), int64_t(1000), int64_t(100003)})
                    check_broadcast(world, ranks, root, n);
}

TEST_CASE("a load of all of each rank's buffer") {
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (int64_t n : {0, 1, 1000}) check_whole_sum(world, ranks, n);
}

TEST_CASE("messages carry 2 (P - 1) / P n elements a rank for an all-reduce") {
    for (int ranks : {2, 4, 5}) {
        const int64_t n = 1000 * ranks;
        Packed program(all_reduce(1, Carried::Auto));
        on_ranks(World::Messages, ranks, [&](stretto_comm_t *comm) {
            std::vector<float> g(size_t(n), 1), out(size_t(n), 0);
            View vg(g.data(), {n}), vout(out.data(), {n});
            REQUIRE(program(comm, {vg.get(), vout.get()}) == 0);
            stretto_stats stats;
            REQUIRE(stretto_get_stats(comm, &stats) == 0);
            CHECK(stats.bytes_sent == uint64_t(2 * (ranks - 1) * 1000 * 4));
            CHECK(stats.bytes_loaded == 0);
        });
    }
}

TEST_CASE("threads count what is loaded from and stored to peers") {
    for (int ranks : {1, 2, 3}) {
        const int64_t n = 30000;
        Packed program(all_reduce(1, Carried::TwoPhases));
        on_ranks(World::Threads, ranks, [&](stretto_comm_t *comm) {
            std::vector<float> g(size_t(n), 1), out(size_t(n), 0);
            View vg(g.data(), {n}), vout(out.data(), {n});
            REQUIRE(program(comm, {vg.get(), vout.get()}) == 0);
            stretto_stats stats;
            REQUIRE(stretto_get_stats(comm, &stats) == 0);
            CHECK(stats.calls == 1);
            CHECK(stats.barriers == (ranks == 1 ? 0u : 2u));
            CHECK(stats.bytes_loaded == uint64_t(n / ranks * 4 * (ranks - 1)));
            CHECK(stats.bytes_stored == uint64_t(n / ranks * 4 * (ranks - 1)));
            CHECK(stats.bytes_sent == 0);
            CHECK(stats.bytes_bounced == 0);
        });
    }
}

TEST_CASE("what a load reads of another rank is a fact of the plan: an element beside its own, in many chunks") {
    for (World world : {World::Threads, World::Messages}) {
        Packed program(left_of(1));
        on_ranks(world, 2, [&](stretto_comm_t *comm) {
            const int64_t n = 200000;
            Floats a(n), b(n);
            for (int64_t i = 0; i < n; i++) a[i] = value(stretto_comm_rank(comm), i);
            View va(a.data(), {n}), vb(b.data(), {n});
            REQUIRE(program(comm, {va.get(), vb.get()}) == 0);
            int64_t wrong = 0;
            for (int64_t i = 0; i < n; i++) wrong += b[i] != value(1, std::max<int64_t>(i - 1, 0));
            CHECK(wrong == 0);
        });
    }
}
