#include "lower/wrapping.h"
#include <set>
#include <string>

namespace stretto {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::reinterpret;
using Halide::Type;

namespace {

// Does e depend on what is in memory? Else it is of loops and extents.
class FindData : public IRVisitor {
    const std::set<std::string> &data;
    using IRVisitor::visit;
    void visit(const Load *) override { found = true; }
    void visit(const Variable *v) override { found |= data.count(v->name) > 0; }

public:
    explicit FindData(const std::set<std::string> &data) : data(data) {}
    bool found = false;
};

class MakeIntegersWrap : public IRMutator {
    bool in_value = false;
    std::set<std::string> data;  // names of values; a name stands for one thing in lowered code
    using IRMutator::visit;

    Expr value(const Expr &e) {
        bool outer = std::exchange(in_value, true);
        Expr r = mutate(e);
        in_value = outer;
        return r;
    }
    template <class Op>
    Expr unsigned_operation(const Op *x) {
        const Type t = x->type;
        if (!in_value || !t.is_int() || t.bits() < 32) return IRMutator::visit(x);
        const Type u = t.with_code(Type::UInt);
        return reinterpret(t, Op::make(reinterpret(u, mutate(x->a)), reinterpret(u, mutate(x->b))));
    }
    Expr visit(const Add *x) override { return unsigned_operation(x); }
    Expr visit(const Sub *x) override { return unsigned_operation(x); }
    Expr visit(const Mul *x) override { return unsigned_operation(x); }
    Expr visit(const Load *x) override { return x; }
    Expr visit(const Ramp *x) override { return x; }  // of loops
    Stmt visit(const Store *s) override {
        return Store::make(s->name, value(s->value), s->index, s->param, s->predicate, s->alignment);
    }
    Stmt visit(const LetStmt *s) override {
        FindData find(data);
        s->value.accept(&find);
        if (find.found) data.insert(s->name);
        return LetStmt::make(s->name, find.found ? value(s->value) : s->value, mutate(s->body));
    }
};

}  // namespace

IRMutator *make_integers_wrap() { return new MakeIntegersWrap; }

}  // namespace stretto
