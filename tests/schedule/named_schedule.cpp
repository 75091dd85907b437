#include "schedule/named_schedule.h"
#include <doctest/doctest.h>
#include "tests/schedule/programs.h"

using namespace stretto;
using namespace stretto::test;

struct Scheduled : Adam {
    NamedSchedule on_slices{"on_slices", [this](Schedule &s) {
                                auto [rs, ag] = s.split(gsum);
                                s.reorder(ag, {avg, m1, v1, p1});
                            }};
    NamedSchedule fused{"fused", [this](Schedule &s) {
                            on_slices(s);
                            s.fuse_all();
                        }};
};

TEST_CASE("members register in order, and one calls another") {
    std::vector<NamedSchedule *> schedules;
    NamedSchedule::open = &schedules;
    Scheduled g;
    NamedSchedule::open = nullptr;
    REQUIRE(schedules.size() == 2);
    CHECK(schedules[0]->name() == "on_slices");
    CHECK(schedules[1]->name() == "fused");
    Schedule s(g.program);
    (*schedules[1])(s);
    CHECK(s.text() ==
          "gsum.rs, gsum.ag = split(gsum, 0)\n"
          "reorder(gsum.ag, {avg, m1, v1, p1})\n"
          "fuse_all()  # Group 0, 1 sweep: {gsum.rs, avg, m1, v1, p1, m1.ag, v1.ag, p1.ag}\n");
}

TEST_CASE("outside of a generator nothing is registered") {
    Scheduled g;
    CHECK(NamedSchedule::open == nullptr);
    CHECK(g.fused.name() == "fused");
}

TEST_CASE("names that are refused") {
    std::vector<NamedSchedule *> schedules;
    NamedSchedule::open = &schedules;
    auto none = [](Schedule &) {};
    NamedSchedule first{"first", none};
    CHECK_THROWS_WITH(NamedSchedule("first", none), "two schedules are called first.\nLegal: a name of its own for each");
    CHECK_THROWS_WITH(NamedSchedule("1st", none),
                      "'1st' cannot be the name of a schedule.\nLegal: letters, digits and '_', not beginning with a digit");
    CHECK_THROWS_WITH(NamedSchedule("default", none),
                      "'default' is the name of the schedule without verbs.\nLegal: another name");
    NamedSchedule::open = nullptr;
    CHECK(schedules.size() == 1);
}
