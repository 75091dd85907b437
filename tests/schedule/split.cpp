#include "schedule/schedule.h"
#include "tests/schedule/programs.h"
#include "tests/schedule/refusals.h"

using namespace stretto;
using namespace stretto::test;

TEST_CASE("an all-reduce becomes a reduce-scatter and an all-gather") {
    Adam a;
    check_golden("schedule/split", before_and_after(a.program, [&](Schedule &s) { s.split(a.gsum); }));
}

TEST_CASE("of any dimension") {
    RowParallel r;
    check_golden("schedule/split_dimension", before_and_after(r.program, [&](Schedule &s) { s.split(r.total, 1); }));
}

TEST_CASE("of any reduction, with its accumulator") {
    Size n{"n"};
    Input<Tensor> x{"x", f16, {n}, partial(Max)}, y{"y", bf16, {n}, partial(Sum)};
    Output<Tensor> most{"most", f16, {n}}, sum{"sum", bf16, {n}};
    most = all_reduce(x);
    sum = all_reduce(y);
    Program p{"reductions", {x, y, most, sum}};
    Schedule s(p);
    s.split(most);
    s.split(sum);
    for (const char *name : {"most", "sum"}) {
        auto *whole = p.graph().find(name), *rs = s.graph().find(name + std::string(".rs"));
        REQUIRE(rs->as<Communication>()->to_dim == 0);
        CHECK(rs->reduce_op() == whole->reduce_op());
        CHECK(rs->accumulator == whole->accumulator);
        CHECK(s.graph().find(name + std::string(".rs"))->type == p.graph().find(name)->type);
    }
}

TEST_CASE("what split refuses") {
    Refusals r;
    Adam a;
    Schedule s(a.program);
    r.add("not an all-reduce", s, [&](Schedule &s) { s.split(a.avg); });
    r.add("an argument", s, [&](Schedule &s) { s.split(a.g); });
    r.add("a dimension that does not exist", s, [&](Schedule &s) { s.split(a.gsum, 1); });
    r.add("a negative dimension", s, [&](Schedule &s) { s.split(a.gsum, -1); });
    s.split(a.gsum);
    r.add("twice", s, [&](Schedule &s) { s.split(a.gsum); });

    RowParallel row;
    Schedule rows(row.program);
    r.add("dimension 2 of two", rows, [&](Schedule &s) { s.split(row.total, 2); });
    rows.collective(row.total, OneShot);
    r.add("after collective", rows, [&](Schedule &s) { s.split(row.total); });

    Mixed m;
    Schedule mixed(m.program);
    r.add("no dimension", mixed, [&](Schedule &s) { s.split(m.sum); });

    Schedule fused(a.program);
    fused.fuse({a.gsum, a.avg});
    r.add("in a Group", fused, [&](Schedule &s) { s.split(a.gsum); });
    r.check("schedule/split_refused");
}
