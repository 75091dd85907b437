#include "lower/lowering.h"

namespace stretto {

namespace {

const char *const binding_prefix = "let.value";

}  // namespace

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
    const std::string prefix = binding_prefix;
    return v && v->name.compare(0, prefix.size(), prefix) == 0 ? std::stoi(v->name.substr(prefix.size())) : -1;
}

void for_each_stage(std::vector<Item> &items, const std::function<void(Stage &)> &f) {
    for (auto &item : items) {
        if (auto *s = std::get_if<Stage>(&item)) f(*s);
        if (auto *c = std::get_if<Choice>(&item)) {
            f(c->one_shot);
            f(c->two_phases);
        }
    }
}

void for_each_stage(const std::vector<Item> &items, const std::function<void(const Stage &)> &f) {
    for_each_stage(const_cast<std::vector<Item> &>(items), [&](Stage &s) { f(s); });
}

bool is_own_element(const Stage &s, const StageAccess &a) {
    if (int(a.reach.size()) != s.outputs) return false;
    for (int d = 0; d < s.outputs; d++)
        if (a.reach[size_t(d)] != d) return false;
    return true;
}

}  // namespace stretto
