// Arguments and programs: from recorded definitions to a graph. Members of a generator register with the open recorder.
#pragma once
#include "lang/tensor.h"

namespace stretto {

// What a Program needs of an argument.
struct ArgumentRef {
    std::string name;
    Access access = Access::Input;
    bool scalar = false;
    Type scalar_type;
    DefinitionPtr definition;               // of tensors
    std::shared_ptr<DefinitionPtr> update;  // of InOut: its new value. Kept here, not in the definition, which it may read
    std::shared_ptr<std::pair<double, double>> range;
};

// Collects the members of one generator, in the order of their declaration.
struct Recorder {
    std::vector<ArgumentRef> arguments;
    std::vector<GeneratorParamBase *> parameters;
    std::vector<Requirement> requirements;
    // The recorder that members constructed now belong to; null outside of generators.
    static thread_local Recorder *open;
};

class ArgumentBase {
protected:
    ArgumentRef ref;
    void record(const ArgumentRef &);

public:
    operator ArgumentRef() const {
        return ref;
    }
};

// Input<Tensor> g{"g", f32, {n}, partial(Sum)};   Input<float> lr{"lr"};
template <class T>
class Input : public ArgumentBase {
    static_assert(std::is_arithmetic_v<T>, "Input<T>: T is Tensor or an arithmetic type");

public:
    explicit Input(const std::string &name) {
        record({name, Access::Input, true, Halide::type_of<T>(), nullptr, nullptr, nullptr});
    }
    operator Expr() const {
        return scalar_argument(ref.scalar_type, ref.name);
    }
    // Where checks and tests draw values from.
    Input &range(double low, double high) {
        *ref.range = {low, high};
        return *this;
    }
};

class TensorArgument : public ArgumentBase, public Tensor {
public:
    TensorArgument(Access, const std::string &name, LateType, std::vector<Extent>, Layout);
    using ArgumentBase::operator ArgumentRef;

protected:
    void set_range(double low, double high) {
        *ref.range = {low, high};
    }
};

template <>
class Input<Tensor> : public TensorArgument {
public:
    Input(const std::string &name, LateType type, std::vector<Extent> extents, Layout layout = replicated)
        : TensorArgument(Access::Input, name, type, std::move(extents), std::move(layout)) {
    }
    Input &range(double low, double high) {
        set_range(low, high);
        return *this;
    }
};

// An argument whose name means its value at entry; update(t, value) gives it the new one.
template <class T>
class InOut;
template <>
class InOut<Tensor> : public TensorArgument {
public:
    InOut(const std::string &name, LateType type, std::vector<Extent> extents, Layout layout = replicated)
        : TensorArgument(Access::InOut, name, type, std::move(extents), std::move(layout)) {
    }
    InOut &range(double low, double high) {
        set_range(low, high);
        return *this;
    }
};

// A tensor that the program defines and the caller receives.
template <class T>
class Output;
template <>
class Output<Tensor> : public TensorArgument {
public:
    Output(const std::string &name, LateType type, std::vector<Extent> extents, Layout layout = replicated)
        : TensorArgument(Access::Output, name, type, std::move(extents), std::move(layout)) {
    }
    using Tensor::operator=;
};

// At the end of the call t holds value. Once per argument; updates happen together, so t reads as its value at entry.
void update(const InOut<Tensor> &t, const Tensor &value);

// In a generator's algorithm(): condition (over scalars, sizes and ranks()) must hold, or the call returns an error with
// `text` and the scalars' values, on every rank, before any communication. Outside: Program::require.
void require(const Expr &condition, const std::string &text);

class Program {
    Graph g;
    std::map<DefinitionPtr, NodeId> named;

public:
    // arguments: in the order of the compiled function's. Throws Error.
    Program(const std::string &name, const std::vector<ArgumentRef> &arguments, const std::vector<Requirement> & = {});
    const std::string &name() const {
        return g.program;
    }
    const Graph &graph() const {
        return g;
    }
    // The user's tensors that the graph was made of, and their nodes: arguments, and named definitions that a result needs.
    const std::map<DefinitionPtr, NodeId> &tensors() const {
        return named;
    }
    void require(const Expr &condition, const std::string &text);
};

std::string to_string(const Program &);
std::ostream &operator<<(std::ostream &, const Program &);

}  // namespace stretto
