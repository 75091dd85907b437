#include "lang/check_expression.h"
#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

bool is_tensor_type(const Type &t) {
    return t.is_bool() || contains(tensor_types(), t);
}

// Goes down at most most_nested levels, so it needs little stack whatever it is given.
class Measure : public IRGraphVisitor {
    std::map<const IRNode *, int> depth_;  // of those left
    int level_ = 0, below_ = 0;

    using IRGraphVisitor::visit;
    void include(const Expr &e) override {
        if (too_deep) return;
        auto known = depth_.find(e.get());
        if (known == depth_.end()) {
            if (!e.as<StringImm>() && !is_tensor_type(e.type()) && !wrong.defined()) wrong = e;
            if (++level_ > most_nested) {
                too_deep = true;
                return;
            }
            const int beside = std::exchange(below_, 0);
            e.accept(this);
            level_--;
            known = depth_.insert({e.get(), below_ + 1}).first;
            below_ = beside;
        }
        below_ = std::max(below_, known->second);
        too_deep |= level_ + known->second > most_nested;
    }
    void visit(const Call *c) override {
        DefinitionPtr d = referenced(Expr(c));
        if (d && d->anonymous && d->value.defined()) include(d->value);
        for (size_t i = d ? 1 : 0; i < c->args.size(); i++) include(c->args[i]);
    }

public:
    bool too_deep = false;
    Expr wrong;  // of a type that no tensor has
    void measure(const Expr &e) { include(e); }
};

[[noreturn]] void refuse_type(const Type &t, const std::string &where, const std::string &program) {
    std::ostringstream name;
    name << t;
    throw Error("In program " + program + ": " + where + " of type " + name.str() + ".\nLegal: " + tensor_type_names());
}

}  // namespace

void check_expression(const Expr &e, const std::string &what, const std::string &program) {
    if (!e.defined()) return;
    Measure m;
    m.measure(e);
    if (m.too_deep)
        throw Error("In program " + program + ": " + what + " has more than " + std::to_string(most_nested) +
                    " operations inside each other.\nLegal: parts of it as tensors with names of their own, " +
                    "or a reduction over an index");
    if (m.wrong.defined()) refuse_type(m.wrong.type(), what + " holds a value", program);
}

void check_declared_type(const Definition &t, const std::string &program) {
    Type type = t.declared_type.get();
    if (!is_tensor_type(type)) refuse_type(type, t.name + " is", program);
}

}  // namespace stretto
