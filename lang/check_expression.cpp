#include "lang/check_expression.h"
#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include "lang/infer.h"
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

bool is_tensor_type(const Type &t) {
    return t == Halide::Bool() || contains(tensor_types(), t);
}

// An operation on bits that Halide does not refuse: of floats and conditions, of which nothing is defined, and a shift by more
// than there are.
bool no_bits(const Call *c) {
    const bool bitwise = c->is_intrinsic({Call::bitwise_and, Call::bitwise_or, Call::bitwise_xor, Call::bitwise_not});
    const bool shift = c->is_intrinsic({Call::shift_left, Call::shift_right});
    const bool counts = c->is_intrinsic({Call::popcount, Call::count_leading_zeros, Call::count_trailing_zeros});
    if (!bitwise && !shift && !counts) return false;
    if (c->type.is_float() || (c->type.is_bool() && !bitwise)) return true;
    if (!shift) return false;
    const int64_t bits = c->type.bits(), by = as_const_int(c->args[1]).value_or(0);
    return by >= bits || by <= -bits || as_const_uint(c->args[1]).value_or(0) >= uint64_t(bits);
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
        if (!bits.defined() && no_bits(c)) bits = c;
        DefinitionPtr d = referenced(Expr(c));
        if (d && d->anonymous && d->value.defined()) include(d->value);
        for (size_t i = d ? 1 : 0; i < c->args.size(); i++) include(c->args[i]);
    }

public:
    bool too_deep = false;
    Expr wrong;  // of a type that no tensor has
    Expr bits;   // an operation on the bits of floats
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
    if (m.bits.defined())
        throw Error("In program " + program + ": " + what + " has " + m.bits.as<Call>()->name + " of a " +
                    type_name(m.bits.as<Call>()->args[0].type()) +
                    ", which has no such bits.\nLegal: operations on bits of integers, as cast<int32_t>(x) << 1; "
                    "shifts by less than an integer's bits");
    if (m.wrong.defined()) refuse_type(m.wrong.type(), what + " holds a value", program);
}

void check_declared(const Definition &t, const std::string &program) {
    Type type = t.declared_type.get();
    if (!is_tensor_type(type)) refuse_type(type, t.name + " is", program);
    if (t.extents.size() > most_indices)
        throw Error("In program " + program + ": " + t.name + " has " + std::to_string(t.extents.size()) +
                    " dimensions.\nLegal: at most " + std::to_string(most_indices));
}

}  // namespace stretto
