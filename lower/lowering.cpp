#include "lower/lowering.h"

namespace stretto {

static const std::string binding_prefix = "let.value";

std::string loop_name(int loop) { return "x" + std::to_string(loop); }

std::string binding_name(int number) { return binding_prefix + std::to_string(number); }

int loop_number(const Expr &e) {
    std::string name = bare_index(e);
    return name.size() > 1 && name[0] == 'x' ? std::stoi(name.substr(1)) : -1;
}

Expr bound(const Body &body, int number) {
    return Halide::Internal::Variable::make(body.bindings[size_t(number)].value.type(), binding_name(number));
}

int bound_number(const Expr &e) {
    auto *v = e.as<Halide::Internal::Variable>();
    const size_t length = binding_prefix.size();
    return v && v->name.compare(0, length, binding_prefix) == 0 ? std::stoi(v->name.substr(length)) : -1;
}

std::vector<const Stage *> with_riders(const std::vector<Item> &items, size_t at) {
    std::vector<const Stage *> stages{&std::get<Stage>(items[at])};
    for (size_t k = at + 1; k < items.size(); k++) {
        auto *rider = std::get_if<Stage>(&items[k]);
        if (!rider || !rider->rides) break;
        stages.push_back(rider);
    }
    return stages;
}

bool is_own_element(const Stage &s, const StageAccess &a) {
    if (int(a.reach.size()) != s.outputs) return false;
    for (int d = 0; d < s.outputs; d++)
        if (a.reach[size_t(d)] != d) return false;
    return true;
}

bool at_own_slice(const Stage &s, const Loop &loop) {
    return loop.range == plan::Range::Slice ||
           (loop.range == plan::Range::Block && s.loops[0].range == plan::Range::Slice);
}

}  // namespace stretto
