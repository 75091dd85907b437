// Ranks that call different things are told, all with the same text, what differs and who has which
// value.
#include <doctest/doctest.h>

#include "ranks.h"

using namespace stretto::test;

namespace {

// Rank `odd` of four changes its descriptor; every rank must get STRETTO_MISMATCH and the same
// text, which is returned.
std::string text_when(int odd, const std::function<void(Descriptor &)> &change, World::Kind kind) {
    World world(4, kind);
    std::vector<Result> results = world.each([&](int rank, stretto_comm_t *c) {
        Descriptor d = describe();
        if (rank == odd) change(d);
        return result_of(agree(*c->transport, hashed(d)));
    });
    for (Result &r : results) {
        CHECK(r.status == STRETTO_MISMATCH);
        CHECK(r.text == results[0].text);
    }
    return results[0].text;
}

}  // namespace

TEST_CASE("mismatch: golden texts") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        CAPTURE(kind);
        CHECK(text_when(
                  1, [](Descriptor &d) { strcpy(d.name, "lamb"); }, kind) ==
              "ranks differ in what they call: rank 1 has lamb, ranks 0, 2, 3 have adam");
        CHECK(text_when(
                  0, [](Descriptor &d) { d.program = 0xdef; }, kind) ==
              "ranks differ in the compiled program of adam: rank 0 has 0xdef, ranks 1-3 have "
              "0xabc as its hash");
        CHECK(text_when(
                  2, [](Descriptor &d) { d.sequence = 7; }, kind) ==
              "ranks differ in the number of calls made before this one of adam: rank 2 has 7, "
              "ranks 0, 1, 3 have 0");
        CHECK(text_when(
                  1, [](Descriptor &d) { d.size_count = 1; }, kind) ==
              "ranks differ in the number of sizes of adam: rank 1 has 1, ranks 0, 2, 3 have 2");
        CHECK(text_when(
                  1, [](Descriptor &d) { d.sizes[0] = 4094; }, kind) ==
              "ranks differ in size n of adam: rank 1 has 4094, ranks 0, 2, 3 have 4096");
        CHECK(text_when(
                  3, [](Descriptor &d) { d.sizes[1] = 0; }, kind) ==
              "ranks differ in size m of adam: rank 3 has 0, ranks 0-2 have 17");
        CHECK(text_when(
                  3, [](Descriptor &d) { d.scalars[0] = 4; }, kind) ==
              "ranks differ in scalar t of adam: rank 3 has 4, ranks 0-2 have 3");
        CHECK(text_when(
                  3, [](Descriptor &d) { d.scalars[1] = 0x3fc999999999999a; }, kind) ==
              "ranks differ in scalar lr of adam: rank 3 has 4596373779694328218, ranks 0-2 have 4591870180066957722");
        CHECK(text_when(
                  0, [](Descriptor &d) { d.mxcsr = 0x9fc0; }, kind) ==
              "ranks differ in the floating-point mode (MXCSR) of adam: rank 0 has 0x9fc0 (flush "
              "to zero) (denormals are zero), "
              "ranks 1-3 have 0x1f80");
    }
}

TEST_CASE("D17: of programs of one name the first line that differs is told, however long they are") {
    for (World::Kind kind : {World::Shared, World::Messages}) {
        CAPTURE(kind);
        auto text_of = [&](const std::string &of_rank_2, const std::string &of_others) {
            stretto::runtime::CallNames odd, even;
            odd.program = [&] { return of_rank_2; };
            even.program = [&] { return of_others; };
            World world(4, kind);
            auto results = world.each([&](int rank, stretto_comm_t *c) {
                Descriptor d = describe();
                if (rank == 2) d.program = 0xdef;
                d.names = rank == 2 ? &odd : &even;
                return result_of(agree(*c->transport, hashed(d)));
            });
            for (Result &r : results) {
                CHECK(r.status == STRETTO_MISMATCH);
                CHECK(r.text == results[0].text);
            }
            return results[0].text;
        };
        const std::string in = "ranks differ in the compiled program of adam: rank 2 has ", same(300000, '.');
        CHECK(text_of("g: bf16\nb", "g: f32\nb") == in + "`g: bf16`, ranks 0, 1, 3 have `g: f32`");
        CHECK(text_of(same + "\nroot 1", same + "\nroot 0\nb") == in + "`root 1`, ranks 0, 1, 3 have `root 0`");
        CHECK(text_of("a", "a\nb") == in + "nothing there, ranks 0, 1, 3 have `b`");
        CHECK(text_of("a", "a") == in + "0xdef, ranks 0, 1, 3 have 0xabc as its hash");
        CHECK(text_of("  p(i) = " + std::string(90, 'x') + "   f32\n", "  p(i) = " + std::string(90, 'x') + "   bf16\n") ==
              in + "`..." + std::string(39, 'x') + " f32`, ranks 0, 1, 3 have `..." + std::string(39, 'x') + " bf16`");
        CHECK(text_of("", "a") == in + "nothing there, ranks 0, 1, 3 have `a`");
    }
}

TEST_CASE("mismatch: beyond the fields that descriptors have, the hash still tells") {
    World world(2);
    for (Result &r : world.each([](int rank, stretto_comm_t *c) {
             Descriptor d = describe();
             d.hash = uint64_t(rank + 1);
             return result_of(c->transport->enter(d, nullptr, 0));
         })) {
        CHECK(r.status == STRETTO_MISMATCH);
        CHECK(r.text ==
              "ranks differ in a size after the eighth or a scalar after the sixteenth of adam: "
              "rank 0 has 0x1, "
              "rank 1 has 0x2 as the call's hash");
    }
}

TEST_CASE("mismatch: a barrier against a program; broken for good") {
    World world(2);
    auto first = world.each([](int rank, stretto_comm_t *c) {
        return result_of(rank ? c->transport->enter(hashed(describe()), nullptr, 0)
                              : stretto_barrier(c));
    });
    for (Result &r : first) {
        CHECK(r.status == STRETTO_MISMATCH);
        CHECK(r.text == "ranks differ in what they call: rank 0 has barrier, rank 1 has adam");
    }
    for (Result &r :
         world.each([](int, stretto_comm_t *c) { return result_of(stretto_barrier(c)); })) {
        CHECK(r.status == STRETTO_MISMATCH);
        CHECK(r.text == first[0].text);
    }
}
