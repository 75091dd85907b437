// A rank that does not come is named within STRETTO_TIMEOUT; the communicator is then broken,
// others are not.
#include <doctest/doctest.h>

#include "collectives/base/clock.h"
#include "ranks.h"

using namespace stretto::test;

TEST_CASE("deadline: who has not arrived, and where this rank waits") {
    Variable timeout("STRETTO_TIMEOUT", "2");
    World world(4), other(2);
    double begin = stretto::runtime::seconds_now();
    auto results = world.each([](int rank, stretto_comm_t *c) {
        if (rank == 1 || rank == 2) return Result{};
        if (int status = c->transport->enter(hashed(describe(12)), nullptr, 0))
            return result_of(status);
        return Result{1, "rank 1 never came"};
    });
    CHECK(stretto::runtime::seconds_now() - begin >= 2);
    std::string tail = " waits in call 12 (adam)";
    for (int rank : {0, 3}) {
        CHECK(results[size_t(rank)].status == STRETTO_TIMEOUT);
        bool from_0 = results[size_t(rank)].text ==
                      "ranks 1, 2 have not arrived within 2 s (STRETTO_TIMEOUT); rank 0" + tail;
        bool from_3 = results[size_t(rank)].text ==
                      "ranks 1, 2 have not arrived within 2 s (STRETTO_TIMEOUT); rank 3" + tail;
        CHECK((from_0 || from_3));
        CHECK(results[size_t(rank)].text == results[0].text);  // the first report is everybody's
    }
    // The late rank learns it too, at once.
    CHECK(world.comms[1]->transport->barrier() == STRETTO_TIMEOUT);
    CHECK(std::string(stretto_last_error()) == results[0].text);
    for (Result &r :
         other.each([](int, stretto_comm_t *c) { return result_of(stretto_barrier(c)); }))
        CHECK(r.status == 0);
}

TEST_CASE("deadline: on messages") {
    Variable timeout("STRETTO_TIMEOUT", "2");
    World world(3, World::Messages);
    auto results = world.each([](int rank, stretto_comm_t *c) {
        return rank == 1 ? Result{}
                         : result_of(agree(*c->transport, hashed(describe(12))));
    });
    for (int rank : {0, 2}) {
        CHECK(results[size_t(rank)].status == STRETTO_TIMEOUT);
        const std::string &text = results[size_t(rank)].text;
        CAPTURE(text);
        CHECK(text.find("not answered within 2 s (STRETTO_TIMEOUT); rank ") != std::string::npos);
        CHECK(text.find(" waits in call 12 (adam)") != std::string::npos);
    }
}

TEST_CASE("D11: ranks that come one after the other, each in time, have one deadline together") {
    Variable timeout("STRETTO_TIMEOUT", "1");
    for (World::Kind kind : {World::Shared, World::Messages}) {
        World world(6, kind);
        auto results = world.each([](int rank, stretto_comm_t *c) {
            stretto::runtime::sleep_microseconds(900'000 * rank);
            return result_of(stretto_barrier(c));
        });
        for (const Result &r : results) CHECK(r.status == STRETTO_TIMEOUT);
    }
}

TEST_CASE("D7: time in which a process did not run does not count") {
    stretto::runtime::Deadline deadline(1);
    stretto::runtime::sleep_microseconds(2'000'000);
    CHECK_FALSE(deadline.passed());
    while (!deadline.passed()) stretto::runtime::sleep_microseconds(10'000);
    CHECK(deadline.left() <= 0);
}

TEST_CASE("deadline: a rank that has freed its handle is lost, not late") {
    World world(2);
    stretto_comm_free(world.comms[1]);
    world.comms[1] = nullptr;
    CHECK(stretto_barrier(world.comms[0]) == STRETTO_PEER_LOST);
    CHECK(std::string(stretto_last_error()) ==
          "rank 1 lost: it has freed its communicator; rank 0 waits for it in call 0 (barrier)");
}

TEST_CASE("deadline: a bad STRETTO_TIMEOUT is refused when the communicator is made") {
    for (const char *value : {"soon", "", "0", "-3", "nan", "5s"}) {
        Variable timeout("STRETTO_TIMEOUT", value);
        stretto_comm_t *c;
        CHECK(stretto_comm_threads(1, &c) == STRETTO_INVALID);
        CHECK(std::string(stretto_last_error()) ==
              "STRETTO_TIMEOUT=" + std::string(value) +
                  ": a positive number of seconds is needed, such as 300 or 0.5");
    }
}

TEST_CASE("STRETTO_REQUIRE_HEAP is 0 or 1") {
    Variable heap("STRETTO_REQUIRE_HEAP", "yes");
    stretto_comm_t *c;
    CHECK(stretto_comm_threads(1, &c) == STRETTO_INVALID);
    CHECK(std::string(stretto_last_error()) == "STRETTO_REQUIRE_HEAP=yes: 0 or 1 is needed");
}
