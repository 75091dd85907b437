// Programs that tests share, each with schedules. Every one is checked under every schedule.
#pragma once
#include <stretto/stretto.h>

namespace stretto::test {

struct ScheduledProgram {
    Program program;
    std::vector<std::pair<std::string, Schedule>> schedules;  // "default" first
    ScheduledProgram(Program p) : program(std::move(p)) {
        schedules.push_back({"default", Schedule(program)});
    }
    void add(const std::string &name, const std::function<void(Schedule &)> &verbs) {
        Schedule s(program);
        verbs(s);
        schedules.push_back({name, s});
    }
};

// By name: "sgd", "adam", "adam_half", "clip", "row_parallel", ...
const std::vector<std::pair<std::string, std::function<ScheduledProgram()>>> &all_programs();

}  // namespace stretto::test
