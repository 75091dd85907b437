// Evaluates one expression on one rank at one index, by walking it. Expressions are Halide IR with
// the accesses and symbols of lang/access.h; each operation is done once, exactly, in its own type,
// as strict code would.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include "lang/access.h"
#include "lang/reference/values.h"

namespace stretto {

// What one simulated rank has.
struct RankState {
    int rank = 0, ranks = 1;
    std::map<std::string, int64_t> sizes;
    std::map<std::string, ScalarValue> scalars;
    std::vector<ScalarValue> plan_scalars;
    std::map<NodeId, HostTensor> tensors;
};

namespace interpreter {

// One evaluation: where, and the values that the expression's parts had so far.
struct Frame {
    const RankState *rank = nullptr, *memory = nullptr;  // who evaluates, and whose tensors it reads
    const std::vector<int64_t> *index = nullptr;
    std::vector<Value> values;
    std::vector<uint64_t> done;  // the number of the evaluation that wrote values[i]
    uint64_t evaluation = 0;
};

// A part of an expression, ready to be evaluated.
using Function = std::function<Value(Frame &)>;
struct Code {
    std::shared_ptr<const Function> function;
    Value operator()(Frame &f) const {
        return (*function)(f);
    }
};
template <class F>
Code code(F f) {
    return {std::make_shared<const Function>(std::move(f))};
}

// f of the values of the operands, in T; its result gives the type of the value.
template <class T, class F>
Code unary(const Code &a, F f) {
    return code([=](Frame &r) { return Value::of(f(a(r).template as<T>())); });
}
template <class T, class F>
Code binary(const Code &a, const Code &b, F f) {
    return code([=](Frame &r) {
        T x = a(r).template as<T>(), y = b(r).template as<T>();
        return Value::of(f(x, y));
    });
}

// The code of a call that is no access, given its arguments'. Throws an Error that names a call
// that it does not know.
Code compile_call(const Halide::Internal::Call *, const std::vector<Code> &arguments);
// A call that Halide defines by simpler expressions, in terms of those; undefined for others.
Expr simpler_call(const Halide::Internal::Call *);

}  // namespace interpreter

class Evaluator {
    Type type_;
    interpreter::Code code;
    interpreter::Frame frame;

public:
    // `indices` are the names of the index variables, in the order in which their values are given.
    Evaluator(const Expr &, const std::vector<std::string> &indices);
    // Throws an Error for an element that the rank does not have, or an argument without a value.
    Value operator()(const RankState &, const std::vector<int64_t> &index);
    // The same with the tensors of another rank.
    Value operator()(const RankState &, const std::vector<int64_t> &index, const RankState &memory);
    const Type &type() const {
        return type_;
    }
};

}  // namespace stretto
