// A schedule with a name, as a member of a generator:
//
//     NamedSchedule on_slices{"on_slices", [this](Schedule &s) { ... }};
//     NamedSchedule fused{"fused", [this](Schedule &s) { on_slices(s);  s.fuse_all(); }};
#pragma once
#include "schedule/schedule.h"

namespace stretto {

class NamedSchedule {
    std::string n;
    std::function<void(Schedule &)> verbs;

public:
    // Registers with the generator that is being constructed, if there is one. Throws an Error if that has a schedule of this
    // name already, or if the name is not [A-Za-z_][A-Za-z0-9_]*, or `default`, the name of the schedule without verbs.
    NamedSchedule(const std::string &name, std::function<void(Schedule &)> verbs);
    NamedSchedule(const NamedSchedule &) = delete;  // a generator holds its address

    const std::string &name() const { return n; }
    void operator()(Schedule &s) const { verbs(s); }

    // Where members constructed now register, in the order of their declaration; null outside of generators.
    static thread_local std::vector<NamedSchedule *> *open;
};

}  // namespace stretto
