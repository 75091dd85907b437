// What is wrong with an argument is said with its name and both values; the other ranks are not left waiting.
#include <doctest/doctest.h>

#include <cinttypes>
#include <cstdio>
#include <functional>

#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

namespace {

// The momentum program with good arguments, n = 10, on one rank; `spoil` changes them.
struct Arguments {
    std::vector<float> g = std::vector<float>(10, 1), p = g, m = g;
    float lr = 1;
    View vg{g.data(), {10}}, vp{p.data(), {10}}, vm{m.data(), {10}};
    std::vector<void *> argv{vg.get(), vp.get(), vm.get(), &lr};
};

std::string momentum_error(const std::function<void(Arguments &)> &spoil) {
    Packed program(fused_momentum());
    std::string text;
    on_ranks(World::Threads, 1, [&](stretto_comm_t *comm) {
        Arguments good;
        REQUIRE(program(comm, good.argv) == 0);
        Arguments a;
        spoil(a);
        int status = program(comm, a.argv);
        text = status ? stretto_last_error() : "";
        CHECK((status == STRETTO_INVALID || status == 0));
        CHECK(program(comm, good.argv) == 0);  // one rank alone goes on
    });
    return text;
}

// The 2-d all-reduce, B = 4 and H = 6, on one rank.
struct Matrices {
    std::vector<float> g = std::vector<float>(200, 1), out = g;
    View vg{g.data(), {4, 6}}, vout{out.data(), {4, 6}};
};

std::string matrix_error(const std::function<void(Matrices &)> &spoil) {
    Packed program(all_reduce(2, Carried::Auto));
    std::string text;
    on_ranks(World::Threads, 1, [&](stretto_comm_t *comm) {
        Matrices a;
        spoil(a);
        text = program(comm, {a.vg.get(), a.vout.get()}) ? stretto_last_error() : "";
    });
    return text;
}

}  // namespace

TEST_CASE("null arguments") {
    CHECK(momentum_error([](Arguments &a) { a.argv[1] = nullptr; }) == "momentum: argument p is null");
    CHECK(momentum_error([](Arguments &a) { a.argv[3] = nullptr; }) == "momentum: argument lr is null");
    CHECK(momentum_error([](Arguments &a) { a.vm.get()->dim = nullptr; }) ==
          "momentum: argument m has a null pointer to its dimensions");
    CHECK(momentum_error([](Arguments &a) { a.vm.get()->host = nullptr; }) ==
          "momentum: argument m has no data: its host pointer is null, its extents make 10 elements");
}

TEST_CASE("data on a device") {
    CHECK(momentum_error([](Arguments &a) { a.vg.get()->flags |= 2; }) ==
          "momentum: argument g is newer on a device than in main memory; copy it to the host first");
}

TEST_CASE("types") {
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->type.bits = 64; }) ==
          "momentum: argument p has type float64; required is float32");
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->type = detail::type_of<bfloat16>(); }) ==
          "momentum: argument p has type bfloat16; required is float32");
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->type = detail::type_of<bool>(); }) ==
          "momentum: argument p has type bool; required is float32");
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->type.lanes = 4; }) ==
          "momentum: argument p has type float32x4; required is float32");
}

TEST_CASE("number of dimensions") {
    CHECK(momentum_error([](Arguments &a) {
              a.vp = View(a.p.data(), {2, 5});
          }) == "momentum: argument p has 2 dimensions; required are 1: [n]");
    CHECK(matrix_error([](Matrices &a) { a.vg = View(a.g.data(), {24}); }) ==
          "all_reduce: argument g has 1 dimensions; required are 2: [B, H]");
}

TEST_CASE("extents and mins") {
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->dim[0].extent = 9; }) ==
          "momentum: argument p: dimension 0 has extent 9; required is n = 10, as dimension 0 of g");
    CHECK(momentum_error([](Arguments &a) { a.vp.get()->dim[0].min = 2; }) ==
          "momentum: argument p: dimension 0 has min 2; required is 0");
    CHECK(momentum_error([](Arguments &a) { a.vg.get()->dim[0].extent = -1; }) ==
          "momentum: size n is -1 (dimension 0 of g); legal are 0 to 2147483647");
    CHECK(matrix_error([](Matrices &a) { a.vout.get()->dim[0].extent = 5; }) ==
          "all_reduce: argument out: dimension 1 has extent 5; required is H = 6, as dimension 1 of g");
}

TEST_CASE("slices") {
    Packed program(fused_momentum());
    for (auto [min, extent] : {std::pair<int, int>{0, 10}, {5, 4}, {0, 5}}) {
        on_ranks(World::Threads, 2, [&, min = min, extent = extent](stretto_comm_t *comm) {
            Arguments a;
            int rank = stretto_comm_rank(comm);
            if (rank == 0) a.vm.get()->dim[0].extent = 5;
            else a.vm.get()->dim[0].min = min, a.vm.get()->dim[0].extent = extent;
            CHECK(program(comm, a.argv) == STRETTO_INVALID);
            std::string text = stretto_last_error();
            std::string required = "momentum: argument m: dimension 0 has min " + std::to_string(min) +
                                   " and extent " + std::to_string(extent) +
                                   "; required is rank 1's slice of n = 10, as dimension 0 of g: min 5 and "
                                   "extent 5 (see stretto_slice)";
            INFO(text);
            CHECK(text.find(required) != text.npos);  // on rank 0 too, which does not wait for rank 1
            CHECK(text.find("rank 1 failed") != text.npos);
        });
    }
}

TEST_CASE("sizes that are parameters") {
    Packed program(block_sums(true));
    on_ranks(World::Threads, 1, [&](stretto_comm_t *comm) {
        float x = 1, total = 0;
        View vx(&x, {1}), vtotal = view(&total);
        for (auto [n, text] :
             {std::pair<int64_t, const char *>{
                  -1, "block_sums: size n is -1 (argument n); legal are 0 to 2147483647"},
              {int64_t(1) << 31, "block_sums: size n is 2147483648 (argument n); legal are 0 to 2147483647"},
              {2,
               "block_sums: argument x: dimension 0 has min 0 and extent 1; required is rank 0's slice of n "
               "= 2, "
               "as argument n: min 0 and extent 2 (see stretto_slice)"}}) {
            int64_t size = n;
            CHECK(program(comm, {vx.get(), &size, vtotal.get()}) == STRETTO_INVALID);
            CHECK(std::string(stretto_last_error()) == text);
        }
    });
}

TEST_CASE("strides") {
    CHECK(matrix_error([](Matrices &a) { a.vg.get()->dim[0].stride = 2, a.vg.get()->dim[1].stride = 12; }) ==
          "all_reduce: argument g: dimension 1, the last, has stride 2; required is 1 (other dimensions may "
          "have any stride). "
          "Copy it into a buffer whose last index is dense");
    CHECK(matrix_error([](Matrices &a) { a.vout.get()->dim[1].stride = 5; }) ==
          "all_reduce: argument out: dimension 0 has stride 5, so that elements share memory; it is written, "
          "so each element needs "
          "a place of its own");
    CHECK(matrix_error([](Matrices &a) { a.vout.get()->dim[1].stride = 0; }) ==
          "all_reduce: argument out: dimension 0 has stride 0, so that elements share memory; it is written, "
          "so each element needs "
          "a place of its own");
    // What is only read may repeat its rows; rows may be padded, or stand upside down.
    CHECK(matrix_error([](Matrices &a) { a.vg.get()->dim[1].stride = 0; }) == "");
    CHECK(matrix_error([](Matrices &a) { a.vg.get()->dim[1].stride = a.vout.get()->dim[1].stride = 9; }) ==
          "");
    CHECK(matrix_error([](Matrices &a) { a.vout.get()->dim[1].stride = -8, a.vout.get()->host += 4 * 24; }) ==
          "");
    // The stride of a dimension of one element is of no account.
    CHECK(matrix_error([](Matrices &a) {
              for (View *v : {&a.vg, &a.vout})
                  v->get()->dim[0] = {0, 1, 7, 0}, v->get()->dim[1] = {0, 4, 3, 0};
          }) == "");
}

TEST_CASE("overlap") {
    auto range = [](const float *begin, int64_t n) {
        char text[64];
        snprintf(text, sizeof text, "[0x%" PRIxPTR ", 0x%" PRIxPTR ")", uintptr_t(begin),
                 uintptr_t(begin + n));
        return std::string(text);
    };
    std::string expected;
    CHECK(momentum_error([&](Arguments &a) {
              a.p.resize(15);
              a.vp = View(a.p.data(), {10});
              a.vm = View(a.p.data() + 5, {10});
              expected = "momentum: arguments p and m overlap: " + range(a.p.data(), 10) + " and " +
                         range(a.p.data() + 5, 10) + "; only arguments that are not written may share memory";
              a.argv = {a.vg.get(), a.vp.get(), a.vm.get(), &a.lr};
          }) == expected);
    CHECK(momentum_error([&](Arguments &a) {
              a.vg = View(a.m.data(), {10});
              expected = "momentum: arguments g and m overlap: " + range(a.m.data(), 10) + " and " +
                         range(a.m.data(), 10) + "; only arguments that are not written may share memory";
          }) == expected);
    // Side by side is no overlap.
    CHECK(momentum_error([&](Arguments &a) {
              a.p.resize(20);
              a.vp = View(a.p.data(), {10});
              a.vm = View(a.p.data() + 10, {10});
          }) == "");
}

TEST_CASE("null data is fine where there is none") {
    Packed program(fused_momentum());
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        float *nothing = nullptr, lr = 1;
        View g(nothing, {0}), p(nothing, {0}), m(nothing, {0});
        CHECK(program(comm, {g.get(), p.get(), m.get(), &lr}) == 0);
    });
}

TEST_CASE("a number of ranks that the plan has no kernel for") {
    plan::PlanT p = all_reduce(1, Carried::OneShot);
    p.cpu->stages[0]->sums.clear();
    p.cpu->stages[0]->kernel->sums.clear();
    p.cpu->stages[0]->kernel->loads = {0};
    Packed program(p);
    on_ranks(World::Threads, 3, [&](stretto_comm_t *comm) {
        float g = 1, out = 0;
        View vg(&g, {1}), vout(&out, {1});
        CHECK(program(comm, {vg.get(), vout.get()}) == STRETTO_INVALID);
        std::string text = stretto_last_error();
        CHECK(text.find("all_reduce: stage out has no kernel for 3 ranks, only for 2, 4") != text.npos);
    });
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        float g = 1, out = 0;
        View vg(&g, {1}), vout(&out, {1});
        CHECK(program(comm, {vg.get(), vout.get()}) == 0);
        CHECK(out == 2);
    });
}

TEST_CASE("a root that is no rank") {
    Packed program(broadcast(2));
    on_ranks(World::Threads, 2, [&](stretto_comm_t *comm) {
        float a = 1, b = 0;
        View va(&a, {1}), vb(&b, {1});
        CHECK(program(comm, {va.get(), vb.get()}) == STRETTO_INVALID);
        std::string text = stretto_last_error();
        CHECK(text.find("broadcast: stage b loads a from rank 2; there are 2 ranks") != text.npos);
    });
}
