// One rank of what is measured: of a schedule of Stretto, or of what it is compared with. The same loop times all of them.
#pragma once
#include <memory>
#include <string>

#include "link.h"

namespace perf {

struct Counters {
    double sent = 0, loaded = 0, stored = 0;  // bytes since the beginning
};

class Rank {
public:
    virtual ~Rank() = default;
    virtual int rank() const = 0;
    virtual int ranks() const = 0;
    // Memory for up to count elements. Before all others.
    virtual void allocate(int64_t count) = 0;
    // Makes a schedule and a count current; with `fresh`, in its initial state.
    virtual void select(const std::string &schedule, int64_t count, bool fresh) = 0;
    // The gradient, or the operand, as a backward pass leaves it in this rank's cache. Not timed.
    virtual void rewrite() = 0;
    virtual void barrier() = 0;
    virtual void step() = 0;
    // Elements on this rank that are not what `steps` steps from the initial state make of it.
    virtual int64_t wrong(int steps) = 0;
    virtual Counters counters() { return {}; }
};

// Answers requests until Stop, or until the other end is gone. Errors go there as text; std::runtime_error when that is gone.
void serve(Rank &, Link);

double seconds_now();

}  // namespace perf
