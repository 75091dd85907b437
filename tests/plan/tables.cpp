// A call publishes any number of buffers: their addresses are a table.
#include <doctest/doctest.h>

#include "collectives/plan/validate.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("300 all-reduced tensors in one program, in calls whose tensors change places") {
    constexpr int count = 300;
    Packed program(all_reduces(count));
    for (World world : every_world) {
        for (int ranks : {2, 3}) {
            for (int64_t n : {int64_t(7), int64_t(700)}) {
                on_ranks(world, ranks, [&](stretto_comm_t *comm) {
                    int rank = stretto_comm_rank(comm);
                    std::vector<Floats> g, out;
                    for (int k = 0; k < count; k++) {
                        g.emplace_back(n);
                        out.emplace_back(n);
                        for (int64_t i = 0; i < n; i++) g.back()[i] = value(rank, i + 1000 * k);
                    }
                    int64_t wrong = 0;
                    for (int call = 0; call < 4; call++) {  // tables of two parities, each used twice
                        std::vector<View> views;
                        views.reserve(2 * count);
                        std::vector<void *> argv;
                        for (int k = 0; k < count; k++) {
                            int tensor = (k + 37 * call) % count;
                            views.emplace_back(g[size_t(tensor)].data(), std::vector<int64_t>{n});
                            argv.push_back(views.back().get());
                            views.emplace_back(out[size_t(tensor)].data(), std::vector<int64_t>{n});
                            argv.push_back(views.back().get());
                        }
                        int status = program(comm, argv);
                        if (status) MESSAGE(std::string(stretto_last_error()));
                        REQUIRE(status == 0);
                        for (int k = 0; k < count; k++) {
                            for (int64_t i = 0; i < n; i++)
                                wrong += out[size_t(k)][i] != sum_of_values(ranks, i + 1000 * k);
                            wrong += !out[size_t(k)].intact();
                            for (int64_t i = 0; i < n; i++) out[size_t(k)][i] = -1;
                        }
                    }
                    CHECK(wrong == 0);
                });
            }
        }
    }
}
