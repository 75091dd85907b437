// What a refusal calls legal is legal: every alternative is tried.
#include <doctest/doctest.h>
#include <cstdio>
#include "tests/random/random_schedule.h"
#include "tests/schedule/programs.h"

using namespace stretto;
using namespace stretto::test;

// "s.split(t, 0); s.split(t, 1);" -> "split(t, 0)", "split(t, 1)"
static Names offers(const std::string &message) {
    Names calls;
    size_t at = message.find("\nLegal: s.");
    if (at == std::string::npos) return calls;
    for (at += 8; message.compare(at, 2, "s.") == 0;) {
        size_t end = message.find(';', at);
        REQUIRE(end != std::string::npos);
        calls.push_back(message.substr(at + 2, end - at - 2));
        at = end + 2;
        if (at >= message.size()) break;
    }
    return calls;
}

static int refused = 0, tried = 0;

template <class P>
static void check() {
    P p;
    for (uint64_t seed = 0; seed < 24; seed++) {
        Schedule s = random_schedule(p.program, seed, int(seed % 8));
        for (auto &name : verb_names()) {
            Schedule t = s;
            try {
                t.add(random_verb(s.graph(), name, seed));
            } catch (const Error &e) {
                INFO(s.text() << e.what());
                CHECK(std::string(e.what()).find("\nLegal: ") != std::string::npos);
                refused++;
                for (auto &call : offers(e.what())) {
                    INFO("offered " << call);
                    CHECK_NOTHROW(Schedule::parse(p.program, s.text() + call));
                    tried++;
                }
            }
        }
    }
}

TEST_CASE("every alternative is accepted") {
    check<Adam>();
    check<Lamb>();
    check<RowParallel>();
    check<Mixed>();
    check<Chain>();
    std::printf("%d refusals, %d alternatives tried\n", refused, tried);
    CHECK(refused > 100);
    CHECK(tried > 100);
}
