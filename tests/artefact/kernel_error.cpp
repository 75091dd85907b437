// A kernel that reads past its input: the call returns Halide's text, on every rank, and the process goes on.
#include <doctest/doctest.h>

#include <atomic>
#include <numeric>

#include <stretto/runtime.hpp>
#include "beyond.h"
#include "beyond_rows.h"

using namespace stretto;

TEST_CASE("an index out of bounds is an error of the call") {
    for (int ranks : {1, 2}) {
        std::atomic<int> told{0};
        run(threads(ranks), [&](Communicator &c) {
            std::vector<float> g(100, 1), x(100), out(100);
            int status = beyond(c, view(g.data(), {100}), view(x.data(), {100}), view(out.data(), {100}));
            std::string text = stretto_last_error();
            CHECK(status == STRETTO_KERNEL);
            CHECK_MESSAGE(text.find("beyond") != std::string::npos, text);
            CHECK_MESSAGE(text.find("buffer x is accessed at 100, which is beyond the max (99) in dimension 0") !=
                              std::string::npos,
                          text);
            told++;
        });
        CHECK(told == ranks);
    }
}

TEST_CASE("the argument has its own name and dimension in the text, where the kernel sums over ranks too") {
    for (int ranks : {1, 2, 3})
        run(threads(ranks), [&](Communicator &c) {
            std::vector<float> w(12, 1), out(12);
            CHECK(beyond_rows(c, view(w.data(), {4, 3}), view(out.data(), {4, 3})) == STRETTO_KERNEL);
            std::string text = stretto_last_error();
            CHECK_MESSAGE(text.find("buffer sum is accessed at 4, which is beyond the max (3) in dimension 0") !=
                              std::string::npos,
                          text);
        });
}

TEST_CASE("afterwards another communicator works") {
    run(threads(1), [](Communicator &c) {
        std::vector<float> g(100, 1), x(100), out(100);
        CHECK(beyond(c, view(g.data(), {0}), view(x.data(), {0}), view(out.data(), {0})) == 0);
    });
}
