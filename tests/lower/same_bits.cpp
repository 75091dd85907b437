// The promise: under every schedule, on every rank, for every size, the bits that the reference gives. STRETTO_PROGRAM=name
// runs one program.
#include <doctest/doctest.h>
#include <cstdlib>
#include <iostream>
#include "../programs.h"

using namespace stretto;

TEST_CASE("every program under every schedule has the reference's bits") {
    const char *only = std::getenv("STRETTO_PROGRAM");
    for (auto &[name, make] : test::all_programs()) {
        if (only && name != only) continue;
        test::ScheduledProgram p = make();
        for (auto &[schedule_name, schedule] : p.schedules) {
            INFO(name << ", schedule " << schedule_name);
            CheckOptions o;
            o.ranks = {1, 2, 3, 4, 5, 8};
            o.sizes = {};
            o.compile.direct_ranks = {1, 2, 4};  // 3, 5 and 8 go through scratch sums
            CheckReport r;
            try {
                r = check(p.program, schedule, o);
            } catch (const Error &e) {
                FAIL(std::string(e.what()));
            }
            CHECK_MESSAGE(r.ok(), name << ", " << schedule_name << ":\n"
                                       << to_string(r));
            CHECK(r.runs >= 6);
            std::cout << name << ", " << schedule_name << ": " << r.runs << " runs\n";
        }
    }
}
