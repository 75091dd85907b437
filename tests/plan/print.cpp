// Plans as text and as JSON.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "collectives/plan/print.h"
#include "tests/plan/plans.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("a fused sweep") {
    CHECK(plan::print(fused_momentum()) == R"(plan momentum, schedule fused, version 3, 18 kernels
size n: dimension 0 of g
argument g: float32[n], input, partial(Sum)
argument p: float32[n], inout, replicated
argument m: float32[n], inout, sliced(0)
argument lr: float32
scalars, kernel 11: float32 rate, bool ok
require ok: "lr must be positive", shows lr

stage gsum, m1, p1: sweep
  i in slice of n
  reads g[i]@each
  updates p[i]@each
  updates m[i]
  sum 0, float32: kernel 0, loads g
  kernel 9, scalars rate, sums 0
  2 ranks: kernel 10, scalars rate, loads g
    storing to peers: kernel 16

sync g, p
)");
}

TEST_CASE("a choice") {
    CHECK(plan::print(all_reduce(2, Carried::Auto)) == R"(plan all_reduce, version 3, 18 kernels
size B: dimension 0 of g
size H: dimension 1 of g
argument g: float32[B, H], input, partial(Sum)
argument out: float32[B, H], output, replicated

stage out: in one shot, sweep
  i in B
  j in H
  reads g[i, j]@each
  writes out[i, j]
  sum 0, float32: kernel 1, loads g
  kernel 4, sums 0
  2 ranks: kernel 7, loads g
  4 ranks: kernel 8, loads g

stage out: or in two phases, sweep
  i in any slice of B
  j in any slice of H
  reads g[i, j]@each
  writes out[i, j]@each
  sum 0, float32: kernel 1, loads g
  kernel 4, sums 0
  2 ranks: kernel 7, loads g
  4 ranks: kernel 8, loads g

sync g, out
)");
}

TEST_CASE("block sums and a fold") {
    CHECK(plan::print(block_sums(true)) == R"(plan block_sums, version 3, 18 kernels
size n: argument n
argument x: float32[n], input, sliced(0)
argument n: int64
argument total: float32[], output, replicated
scratch total.blocks: float32[ranks]

stage total.blocks: block sum
  i in slice of ranks
  j in block of n, reduced
  reads x[j]
  writes total.blocks[i]@each
  kernel 12, loads x

sync total.blocks

stage total: fold
  i in ranks, reduced
  reads total.blocks[i]
  writes total[]
  kernel 13, loads total.blocks
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
    CHECK(json["stages"][0]["accesses"][1]["how"] == "Update");
    CHECK(json["stages"][0]["accesses"][0]["from"] == "Each");
}
