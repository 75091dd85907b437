// Calls of compiled programs on ranks as threads.
#pragma once
#include <stretto/stretto.h>

#include <doctest/doctest.h>

namespace stretto::test {

// The default schedule and the named ones.
struct Schedules {
    std::vector<std::pair<std::string, Schedule>> all;
    explicit Schedules(const Program &p) {
        all.push_back({"default", Schedule(p)});
    }
    Schedules &add(const Program &p, const std::string &name, const std::function<void(Schedule &)> &verbs) {
        Schedule s(p);
        verbs(s);
        all.push_back({name, s});
        return *this;
    }
};

// check() of one schedule, as a doctest check.
inline void check_bits(const Program &p, const Schedule &s, const CheckOptions &o) {
    try {
        CheckReport r = check(p, s, o);
        CHECK_MESSAGE(r.ok(), to_string(r));
    } catch (const Error &e) { FAIL_CHECK(std::string(e.what())); } catch (const RuntimeError &e) {
        FAIL_CHECK(std::string(e.what()));
    }
}

// What each rank's call ended with, "" for success.
template <class Body>
std::vector<std::string> errors_of(int ranks, const Body &body) {
    std::vector<std::string> texts(size_t(ranks), "");
    run(threads(ranks), [&](Communicator &c) {
        try {
            body(c);
        } catch (const RuntimeError &e) { texts[size_t(c.rank())] = e.what(); }
    });
    return texts;
}

}  // namespace stretto::test
