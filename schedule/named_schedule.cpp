#include "schedule/named_schedule.h"

namespace stretto {

thread_local std::vector<NamedSchedule *> *NamedSchedule::open = nullptr;

NamedSchedule::NamedSchedule(const std::string &name, std::function<void(Schedule &)> verbs)
    : n(name), verbs(std::move(verbs)) {
    check_name(name, "schedule");
    if (name == "default") throw Error("'default' is the name of the schedule without verbs.\nLegal: another name");
    if (!open) return;
    for (auto *other : *open)
        if (other->name() == name) throw Error("two schedules are called " + name + ".\nLegal: a name of its own for each");
    open->push_back(this);
}

}  // namespace stretto
