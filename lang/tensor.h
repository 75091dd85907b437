// The surface: sizes, tensors, index notation, communications, arguments. Objects here only record definitions; a Program
// turns them into a graph.
#pragma once
#include <memory>
#include "lang/error.h"
#include "lang/graph.h"
#include "lang/literals.h"

namespace stretto {

// ---- Halide's expression language, element by element. Found by argument-dependent lookup for the types below too.
using Halide::abs;
using Halide::acos;
using Halide::acosh;
using Halide::asin;
using Halide::asinh;
using Halide::atan;
using Halide::atan2;
using Halide::atanh;
using Halide::bfloat16_t;
using Halide::cast;
using Halide::ceil;
using Halide::clamp;
using Halide::cos;
using Halide::cosh;
using Halide::exp;
using Halide::float16_t;
using Halide::floor;
using Halide::is_finite;
using Halide::is_inf;
using Halide::is_nan;
using Halide::lerp;
using Halide::log;
using Halide::max;
using Halide::min;
using Halide::pow;
using Halide::round;
using Halide::select;
using Halide::sin;
using Halide::sinh;
using Halide::sqrt;
using Halide::tan;
using Halide::tanh;
using Halide::trunc;
using Halide::operator+;
using Halide::operator-;
using Halide::operator*;
using Halide::operator/;
using Halide::operator%;
using Halide::operator<;
using Halide::operator<=;
using Halide::operator>;
using Halide::operator>=;
using Halide::operator==;
using Halide::operator!=;
using Halide::operator&&;
using Halide::operator||;
using Halide::operator!;
using Halide::operator&;
using Halide::operator|;
using Halide::operator^;
using Halide::operator~;
using Halide::operator<<;
using Halide::operator>>;
// The error function. References to what is not const, so that of an Expr it is preferred over Halide::erf.
Expr erf(Expr &&x);
Expr erf(Expr &x);
// What Halide approximates under these names are the functions themselves. Objects, or Halide's would be found too.
inline constexpr struct FastExp {
    Expr operator()(const Expr &x) const { return exp(x); }
} fast_exp{};
inline constexpr struct FastLog {
    Expr operator()(const Expr &x) const { return log(x); }
} fast_log{};
inline constexpr struct FastPow {
    Expr operator()(const Expr &x, const Expr &y) const { return pow(x, y); }
} fast_pow{};
inline constexpr struct FastSin {
    Expr operator()(const Expr &x) const { return sin(x); }
} fast_sin{};
inline constexpr struct FastCos {
    Expr operator()(const Expr &x) const { return cos(x); }
} fast_cos{};

// ---- Parameters of a generator: read when the algorithm runs, not when members are constructed.
struct GeneratorParamBase {
    std::string name;
    explicit GeneratorParamBase(const std::string &name);
    GeneratorParamBase(const GeneratorParamBase &) = delete;
    virtual ~GeneratorParamBase() = default;
    // Throws an Error that says which values are legal.
    virtual void set_from_text(const std::string &) = 0;
    virtual std::string text() const = 0;
    virtual std::string type_text() const = 0;
};

// T: Type, bool, int, int64_t, float or double.
template <class T>
class GeneratorParam : public GeneratorParamBase {
    T v;

public:
    GeneratorParam(const std::string &name, const T &value) : GeneratorParamBase(name), v(value) {
    }
    const T &value() const {
        return v;
    }
    operator const T &() const {
        return v;
    }
    void set_from_text(const std::string &) override;
    std::string text() const override;
    std::string type_text() const override;
};

// A type, possibly a GeneratorParam's, read late.
class LateType {
    Type t;
    const GeneratorParam<Type> *p = nullptr;

public:
    LateType() = default;
    LateType(const Type &t) : t(t) {
    }
    LateType(const GeneratorParam<Type> &p) : p(&p) {
    }
    Type get() const {
        return p ? p->value() : t;
    }
};

// A named extent, known when the compiled program is called. As an expression an int64.
class Size {
    std::string n;

public:
    explicit Size(const std::string &name);
    const std::string &name() const {
        return n;
    }
    operator Expr() const {
        return size_value(n);
    }
};

// An extent where a tensor is declared.
class Extent {
    std::string size;
    int64_t constant = -1;
    const GeneratorParam<int> *p = nullptr;

public:
    Extent(const Size &s) : size(s.name()) {
    }
    Extent(int n) : constant(n) {
    }
    Extent(const GeneratorParam<int> &p) : p(&p) {
    }
    const std::string &size_name() const {
        return size;
    }
    int64_t value() const {
        return p ? p->value() : constant;
    }
};

// ---- Tensors
struct Definition {
    std::string name;
    bool anonymous = false;  // the value of a whole-tensor operator; written out where it is used
    bool declared = false;   // with type, extents and layout
    LateType declared_type;
    std::vector<Extent> extents;
    Layout layout;
    bool argument = false;  // Input or InOut: has a value at entry

    bool defined = false;
    int ordinal = 0;  // of definitions in this thread: the order in which the user wrote them
    Op op = Map{};
    Type type;
    Names vars;
    Expr value;  // reads other definitions through reference()
    // Of a tensor that a schedule gave back: what that made of another one.
    Role role = Role::Own;
    std::shared_ptr<Definition> of;

    Type element_type() const;  // throws if not known yet
    int dimensions() const;     // likewise
    Names indices() const;      // as on the left side of the definition, or i, j, ...
};
using DefinitionPtr = std::shared_ptr<Definition>;

// Throws an Error unless the name is letters, digits and '_', not beginning with a digit. what: "tensor", "size", ...
void check_name(const std::string &name, const char *what);

// A read of a definition, before there is a graph.
Expr reference(const DefinitionPtr &, const std::vector<Expr> &indices);
// The definition that a Call reads, null if it is no reference.
DefinitionPtr referenced(const Expr &);

struct Comm;

class TensorRef {
    DefinitionPtr d;
    std::vector<Expr> indices;

public:
    TensorRef(DefinitionPtr d, std::vector<Expr> indices) : d(std::move(d)), indices(std::move(indices)) {
    }
    TensorRef(const TensorRef &) = default;
    operator Expr() const {
        return reference(d, indices);
    }
    // Defines the tensor: t(i, j) = value.
    void operator=(const Expr &value) const;
    void operator=(const TensorRef &value) const {
        *this = Expr(value);
    }
    // A literal takes the type that the tensor is declared with.
    template <class T, IfDouble<T> = 0>
    void operator=(T value) const {
        *this = d->declared ? literal(value, Halide::Internal::make_zero(d->declared_type.get())) : Expr(value);
    }
};

// A handle: copies refer to the same tensor.
class Tensor {
protected:
    DefinitionPtr d;

public:
    explicit Tensor(const std::string &name);
    Tensor(const std::string &name, LateType type, std::vector<Extent> extents, Layout layout = replicated);
    explicit Tensor(DefinitionPtr d) : d(std::move(d)) {
    }
    Tensor(const Comm &);
    Tensor(const Tensor &) = default;
    Tensor &operator=(const Tensor &) = default;
    // Defines this tensor as the result of a communication.
    Tensor &operator=(const Comm &);

    template <class... Indices>
    TensorRef operator()(const Indices &...i) const {
        return TensorRef(d, {Expr(i)...});
    }
    const std::string &name() const {
        return d->name;
    }
    const DefinitionPtr &definition() const {
        return d;
    }
};

// A communication that no tensor holds yet: t = all_reduce(u) defines t.
struct Comm {
    std::string verb;
    Op op;
    Tensor operand;
    Type type;  // of the result
};

// The reduction over ranks of a partial tensor, on every rank. type: of the result (default: the operand's). Sums
// accumulate in f32 or wider and are rounded once.
Comm all_reduce(const Tensor &);
Comm all_reduce(const Tensor &, const Type &);
// The same, of which each rank keeps its slice of dimension `dim`.
Comm reduce_scatter(const Tensor &, int dim);
Comm reduce_scatter(const Tensor &, int dim, const Type &);
// The whole of a sliced tensor, on every rank.
Comm all_gather(const Tensor &);
// The value of a local tensor on rank `root`, on every rank.
Comm broadcast(const Tensor &, int root);
// Rank r gets the local tensor of rank r - k (k below 0: of a later rank). Where there is none: of the rank at the other end
// (cyclic), its own (keep), or a value without an index (fill).
struct Edge {
    enum Kind { Cyclic,
                Keep,
                Fill } kind = Cyclic;
    Expr value;  // of Fill
};
inline const Edge cyclic{Edge::Cyclic, {}}, keep{Edge::Keep, {}};
Edge fill(const Expr &value);
template <class T, IfDouble<T> = 0>
Edge fill(T value) { return fill(Expr(value)); }
Comm shift(const Tensor &, int k, const Edge & = cyclic);
// Each rank's slice of a replicated tensor; no communication.
Comm slice_of(const Tensor &, int dim);

// ---- Whole-tensor operators: NumPy's broadcasting from the last dimension.
Tensor map_tensors(const std::string &what, const std::vector<Tensor> &operands,
                   const std::function<Expr(const std::vector<Expr> &)> &f);
template <class T>
Tensor cast(const Tensor &t) {
    return map_tensors("cast", {t}, [](const std::vector<Expr> &x) { return Halide::cast<T>(x[0]); });
}
Tensor cast(const Type &, const Tensor &);
Tensor operator-(const Tensor &);
Tensor sqrt(const Tensor &);
Tensor exp(const Tensor &);
Tensor operator+(const Tensor &, const Tensor &);
Tensor operator-(const Tensor &, const Tensor &);
Tensor operator*(const Tensor &, const Tensor &);
Tensor operator/(const Tensor &, const Tensor &);
Tensor operator+(const Tensor &, const Expr &);
Tensor operator-(const Tensor &, const Expr &);
Tensor operator*(const Tensor &, const Expr &);
Tensor operator/(const Tensor &, const Expr &);
Tensor operator+(const Expr &, const Tensor &);
Tensor operator+(const Tensor &, double);
Tensor operator+(double, const Tensor &);
Tensor operator-(const Expr &, const Tensor &);
Tensor operator-(const Tensor &, double);
Tensor operator-(double, const Tensor &);
Tensor operator*(const Expr &, const Tensor &);
Tensor operator*(const Tensor &, double);
Tensor operator*(double, const Tensor &);
Tensor operator/(const Expr &, const Tensor &);
Tensor operator/(const Tensor &, double);
Tensor operator/(double, const Tensor &);
Tensor max(const Tensor &, const Tensor &);
Tensor min(const Tensor &, const Tensor &);

// ---- Reductions over indices. With free indices left: in the order of the reduced indices, the last one fastest. Over all
// indices: in blocks of the first index (or of blocks(k)), as many as there are ranks; see the reference.
class IndexReduction {
    ReduceOp op;
    std::vector<Var> over;
    Expr value;
    int split = 0;
    bool free_order = false, root = false;

public:
    IndexReduction(ReduceOp op, std::vector<Var> over, const Expr &value, bool root = false);
    // The index whose blocks are summed apart.
    IndexReduction blocks(const Var &k) const;
    // Any order of the additions is legal, within gamma(N-1) * sum|addend| and the same from run to run: for schedules that
    // change it.
    IndexReduction any_order() const;
    operator Expr() const;
};
IndexReduction sum_over(const Var &, const Expr &);
IndexReduction prod_over(const Var &, const Expr &);
IndexReduction max_over(const Var &, const Expr &);
IndexReduction min_over(const Var &, const Expr &);
IndexReduction norm2(const Var &, const Expr &);  // sqrt(sum of squares)
IndexReduction sum_over(const std::vector<Var> &, const Expr &);
IndexReduction prod_over(const std::vector<Var> &, const Expr &);
IndexReduction max_over(const std::vector<Var> &, const Expr &);
IndexReduction min_over(const std::vector<Var> &, const Expr &);
IndexReduction norm2(const std::vector<Var> &, const Expr &);

// ---- Ranks and random numbers
Expr ranks();  // the number of ranks, int32, the same everywhere
Expr rank();   // this rank, local
// Uniform in [0, 1), of 24 bits: Philox4x32-10 keyed by seed; the counter is the global linear index of `indices` (default:
// those of the left side; a reduction has to name them) and the stream (default: the first number that no call names and no
// earlier one has got). One call is one number, wherever its Expr is used. The same under every schedule.
Expr random(const Expr &seed);
Expr random(const Expr &seed, int stream, const std::vector<Var> &indices = {});
// 0 with probability rate, else e / (1 - rate).
Expr dropout(const Expr &e, const Expr &rate, const Expr &seed);
Expr dropout(const Expr &e, const Expr &rate, const Expr &seed, int stream, const std::vector<Var> &indices = {});
template <class T, IfDouble<T> = 0>
Expr dropout(const Expr &e, T rate, const Expr &seed) { return dropout(e, Expr(float(rate)), seed); }
template <class T, IfDouble<T> = 0>
Expr dropout(const Expr &e, T rate, const Expr &seed, int stream, const std::vector<Var> &indices = {}) {
    return dropout(e, Expr(float(rate)), seed, stream, indices);
}

}  // namespace stretto
