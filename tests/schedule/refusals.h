// Collects the messages of refused verbs, for one golden file; a verb that is accepted is a failure, and so is one that
// was refused and left the schedule changed.
#pragma once
#include "lang/print.h"
#include "schedule/schedule.h"
#include "tests/golden.h"

namespace stretto::test {

class Refusals {
    std::string text;

public:
    // `why`: the condition that the verb violates.
    void add(const std::string &why, Schedule s, const std::function<void(Schedule &)> &verb) {
        std::string before = s.text() + to_string(s.graph());
        try {
            verb(s);
            FAIL_CHECK("not refused: " << why);
        } catch (const Error &e) { text += "# " + why + "\n" + e.what() + "\n\n"; }
        CHECK(s.text() + to_string(s.graph()) == before);
    }
    void check(const std::string &golden) const {
        check_golden(golden, text);
    }
};

// The graph before and after what `verbs` does.
inline std::string before_and_after(const Program &p, const std::function<void(Schedule &)> &verbs) {
    Schedule s(p);
    std::string before = to_string(s.graph());
    verbs(s);
    return before + "\n" + s.text() + "\n" + to_string(s.graph());
}

}  // namespace stretto::test
