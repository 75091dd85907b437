// Helpers of the runtime's tests: a world of threads on which each rank runs a function; settings
// of the environment.
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <stretto/runtime.h>
#include "collectives/base/error.h"
#include "collectives/comm/comm.h"
#include "tests/worlds/worlds.h"

namespace stretto::test {

using runtime::Descriptor;
using runtime::Place;
using runtime::Transport;

// What one rank's call returned: doctest's macros are for the main thread, so ranks report through
// this.
struct Result {
    int status = 0;
    std::string text;
};

inline void check_fine(const std::vector<Result> &results) {
    for (const Result &r : results) {
        CHECK(r.status == 0);
        CHECK(r.text == "");
    }
}

inline Result result_of(int status) { return {status, status ? stretto_last_error() : ""}; }

class World {
public:
    enum Kind { Shared,
                Messages };
    explicit World(int ranks, Kind kind = Shared) : comms(size_t(ranks)) {
        int status = kind == Shared ? stretto_comm_threads(ranks, comms.data())
                                    : make_message_comms(ranks, comms.data());
        if (status) throw std::runtime_error(stretto_last_error());
    }
    ~World() {
        for (stretto_comm_t *c : comms) stretto_comm_free(c);
    }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    // Runs body(rank, communicator) on a thread a rank; the results in rank order.
    std::vector<Result> each(const std::function<Result(int, stretto_comm_t *)> &body) {
        std::vector<Result> results(comms.size());
        std::vector<std::thread> threads;
        for (int r = 0; r < int(comms.size()); r++) {
            threads.emplace_back([&, r] { results[size_t(r)] = body(r, comms[size_t(r)]); });
        }
        for (std::thread &t : threads) t.join();
        return results;
    }

    std::vector<stretto_comm_t *> comms;
};

// Sets a variable for the time that it lives; null: unset.
class Variable {
public:
    Variable(const char *name, const char *value) : name_(name) {
        if (const char *old = getenv(name)) {
            was_set_ = true;
            old_ = old;
        }
        value ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { was_set_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

private:
    const char *name_;
    bool was_set_ = false;
    std::string old_;
};

// A call of a program named adam with two sizes and two scalars, as the executor describes it.
inline Descriptor describe(uint32_t sequence = 0) {
    Descriptor d;
    strcpy(d.name, "adam");
    d.program = 0xabc;
    d.sequence = sequence;
    d.size_count = 2;
    d.sizes[0] = 4096;
    d.sizes[1] = 17;
    d.scalar_count = 2;
    d.scalars[0] = 3;
    d.scalars[1] = 0x3fb999999999999a;  // 0.1
    d.mxcsr = 0x1f80;
    static const runtime::CallNames names{{"n", "m"}, {"t", "lr"}, [](int, uint64_t bits) { return std::to_string(bits); }};
    d.names = &names;
    return d;
}

// Descriptors carry the hash of all their fields.
inline Descriptor hashed(Descriptor d) {
    d.hash = 0;
    d.hash = runtime::hash_bytes(&d, sizeof d);
    return d;
}

// Does the call agree with the other ranks'? On messages enter() alone may not know yet.
inline int agree(runtime::Transport &t, const Descriptor &d) {
    int status = t.enter(d, nullptr, 0);
    return status ? status : t.agree();
}

}  // namespace stretto::test
