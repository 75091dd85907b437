// Plans as text and as JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "collectives/plan/print.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("a fused sweep") {
    CHECK(plan::print(fused_momentum()) == R"(plan momentum, schedule fused, version 1, 17 kernels
size n: dimension 0 of g
argument g: float32[n], input, partial(Sum), peers
argument p: float32[n], inout, replicated, peers
argument m: float32[n], inout, sliced(0)
argument lr: float32
scalars, kernel 11: float32 rate, bool ok
require ok: "lr must be positive", shows lr

stage gsum, m1, p1: sweep
  i in slice of n
  sum 0, float32: kernel 0, loads g@each
  kernel 9, scalars rate, loads sum 0
  2 ranks: kernel 10, scalars rate, loads g@each
    storing to peers: kernel 16
  stores p@all in place, m in place

barrier at the end
)");
}

TEST_CASE("a collective, and flags that differ") {
    plan::PlanT p = all_reduce(2, plan::Collective::Auto);
    p.leave_one_shot = false;
    p.stages[0]->barrier_one_shot = true;
    CHECK(plan::print(p) == R"(plan all_reduce, version 1, 17 kernels
size B: dimension 0 of g
size H: dimension 1 of g
argument g: float32[B, H], input, partial(Sum), peers
argument out: float32[B, H], output, replicated, peers

stage out: sweep, all-reduce, barrier before if one-shot
  i in B
  j in H
  sum 0, float32: kernel 1, loads g@each
  kernel 4, loads sum 0
  2 ranks: kernel 7, loads g@each
  4 ranks: kernel 8, loads g@each
  stores out

barrier at the end if two-phase
)");
}

TEST_CASE("block sums and a fold") {
    CHECK(plan::print(block_sums(true)) == R"(plan block_sums, version 1, 17 kernels
size n: argument n
argument x: float32[n], input, sliced(0)
argument n: int64
argument total: float32[], output, replicated
scratch total.blocks: float32[ranks], peers

stage total.blocks: block sum
  i in own block of n, reduced
  kernel 12, loads x
  stores total.blocks@all

stage total: fold, barrier before
  kernel 13, loads total.blocks
  stores total
)");
}

TEST_CASE("JSON is JSON and the same every time") {
    auto bytes = plan::pack(fused_momentum());
    std::string text = plan::print_json(bytes);
    CHECK(text == plan::print_json(plan::pack(fused_momentum())));
    auto json = nlohmann::json::parse(text);
    CHECK(json["name"] == "momentum");
    CHECK(json["arguments"].size() == 4);
    CHECK(json["arguments"][2]["sliced"] == 0);
    CHECK(json["arguments"][0]["type"] == "Float32");
    CHECK(json["stages"][0]["stores"][0]["to"] == "All");
    CHECK(json["stages"][0]["sums"][0]["kernel"]["loads"][0]["from"] == "Each");
}
