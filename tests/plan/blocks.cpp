// Block sums and their fold: a sliced and a replicated operand give the same bits, empty blocks included.
#include <doctest/doctest.h>

#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("a sum by blocks, of a sliced and of a replicated operand") {
    Packed sliced(block_sums(true)), replicated(block_sums(false));
    for (World world : every_world)
        for (int ranks : all_ranks)
            for (int64_t n : lengths(ranks)) {
                CAPTURE(int(world));
                CAPTURE(ranks);
                CAPTURE(n);
                on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                    int rank = stretto_comm_rank(comm);
                    float expected = 0;
                    for (int r = 0; r < ranks; r++) {
                        int64_t lo, hi;
                        stretto_slice(n, r, ranks, &lo, &hi);
                        float block = 0;
                        for (int64_t i = lo; i < hi; i++) block += value(0, i);
                        expected += block;
                    }
                    int64_t lo, hi;
                    stretto_slice(n, rank, ranks, &lo, &hi);
                    Floats whole(n), part(hi - lo);
                    for (int64_t i = 0; i < n; i++) whole[i] = value(0, i);
                    for (int64_t i = lo; i < hi; i++) part[i - lo] = value(0, i);
                    for (int call = 0; call < 2; call++) {
                        float total = -1, of_slices = -1;
                        View vwhole(whole.data(), {n}), vpart(part.data(), {hi - lo}, {lo});
                        View vtotal = view(&total), vslices = view(&of_slices);
                        int64_t size = n;
                        REQUIRE(replicated(comm, {vwhole.get(), vtotal.get()}) == 0);
                        // No argument has n whole: it is passed as a parameter.
                        int status = sliced(comm, {vpart.get(), &size, vslices.get()});
                        if (status) MESSAGE(std::string(stretto_last_error()));
                        REQUIRE(status == 0);
                        CHECK(total == expected);
                        CHECK(of_slices == expected);
                    }
                });
            }
}
