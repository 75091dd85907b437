#include "schedule/named_schedule.h"
#include <regex>

namespace stretto {

thread_local std::vector<NamedSchedule *> *NamedSchedule::open = nullptr;

NamedSchedule::NamedSchedule(const std::string &name, std::function<void(Schedule &)> verbs)
    : n(name), verbs(std::move(verbs)) {
    static const std::regex legal("[A-Za-z_][A-Za-z0-9_]*");
    if (!std::regex_match(name, legal))
        throw Error("'" + name +
                    "' cannot be the name of a schedule.\n"
                    "Legal: letters, digits and '_', not beginning with a digit");
    if (name == "default") throw Error("'default' is the name of the schedule without verbs.\nLegal: another name");
    if (!open) return;
    for (auto *other : *open)
        if (other->name() == name) throw Error("two schedules are called " + name + ".\nLegal: a name of its own for each");
    open->push_back(this);
}

}  // namespace stretto
