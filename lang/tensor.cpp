#include "lang/tensor.h"
#include "lang/expand.h"
#include "lang/text.h"

namespace stretto {

using namespace Halide::Internal;

namespace {

// The first argument of a reference: keeps the definition alive.
struct DefinitionName : StringImm {
    DefinitionPtr definition;
    static Expr make(const DefinitionPtr &d) {
        auto *n = new DefinitionName;
        n->type = Halide::Handle();
        n->value = d->name;
        n->definition = d;
        return Expr(n);
    }
};

thread_local int definitions_made = 0;

void begin_definition(Definition &d) {
    if (d.argument)
        throw Error(d.name +
                    " is an argument; its name means its value at entry.\nLegal: define another tensor v and "
                    "update(" +
                    d.name + ", v)");
    if (d.defined) throw Error(d.name + " is defined twice.\nLegal: a tensor of another name");
}

void end_definition(Definition &d, const Type &t) {
    if (d.declared && d.declared_type.get() != t)
        throw Error(d.name + " is declared " + type_name(d.declared_type.get()) + " and defined as " +
                    type_name(t) + ".\nLegal: cast<" + cpp_type_name(d.declared_type.get()) + ">(...)");
    d.type = t;
    d.defined = true;
    d.ordinal = ++definitions_made;
}

Type element_type(const Tensor &t) { return t.definition()->element_type(); }

// A reduction over ranks with a result of this type, of dimension `dim` a slice.
Comm reduction(const std::string &verb, const Tensor &t, const Type &type, std::optional<int> dim) {
    const Type from = element_type(t);
    const bool same_kind = type.is_float() == from.is_float() && type.is_int() == from.is_int() && !type.is_bool();
    if (type != from && !same_kind)
        throw Error(verb + "(" + t.name() + ", " + type_name(type) + "): " + t.name() + " is " + type_name(from) +
                    "; the result's type must be of the same kind.\nLegal: " + verb + "(cast<" + cpp_type_name(type) + ">(" +
                    t.name() + "))");
    return {verb, Communication{{From::Each, {world_axis}}, Sum, dim}, t, type};
}

Names default_indices(int dimensions) {
    Names names;
    for (int d = 0; d < dimensions; d++) names.push_back(default_index(d));
    return names;
}

void check_value(const Expr &e, const std::string &what) {
    if (!e.defined()) throw Error(what + " is an Expr without a value.\nLegal: an Expr of indices, tensors and scalars");
}

[[noreturn]] void not_defined_yet(const std::string &name) {
    throw Error(name + " is used before it is defined.\nLegal: define it first, " + name +
                "(i, ...) = ... or " + name + " = all_reduce(...)");
}

}  // namespace

Size::Size(const std::string &name) : n(name) { check_name(name, "size"); }

Type Definition::element_type() const {
    if (defined) return type;
    if (declared) return declared_type.get();
    not_defined_yet(name);
}

Names Definition::indices() const { return defined ? vars : default_indices(dimensions()); }

int Definition::dimensions() const {
    if (defined) return int(vars.size());
    if (declared) return int(extents.size());
    not_defined_yet(name);
}

Expr reference(const DefinitionPtr &d, const std::vector<Expr> &indices) {
    if (!d->defined && !d->argument) not_defined_yet(d->name);
    const size_t given = indices.size();
    if (int(given) != d->dimensions())
        throw Error(d->name + " has " + counted(size_t(d->dimensions()), "dimension") + ", " + std::to_string(given) +
                    (given == 1 ? " index is" : " indices are") + " given.\nLegal: " + d->name + "(" +
                    join(default_indices(d->dimensions())) + ")");
    std::vector<Expr> args{DefinitionName::make(d)};
    for (auto &i : indices) {
        if (!i.defined())
            throw Error("an index of " + d->name + " is an Expr without a value.\nLegal: a Var, or an int Expr");
        if (i.type().is_float())
            throw Error("an index of " + d->name + " is a " + type_name(i.type()) +
                        ".\nLegal: cast<int>(...)");
        args.push_back(i.type() == Halide::Int(32) ? i : Halide::cast<int>(i));
    }
    return Call::make(d->element_type(), "stretto_reference", args, Call::PureExtern);
}

DefinitionPtr referenced(const Expr &e) {
    const Call *c = e.as<Call>();
    if (!c || c->name != "stretto_reference") return nullptr;
    return static_cast<const DefinitionName *>(c->args[0].as<StringImm>())->definition;
}

void TensorRef::operator=(const Expr &value) const {
    if (!value.defined())
        throw Error("the definition of " + d->name + " is an Expr without a value.\nLegal: " + d->name +
                    "(i, ...) = an Expr of indices, tensors and scalars");
    begin_definition(*d);
    Names vars;
    for (auto &i : indices) {
        std::string v = bare_index(i);
        if (v.empty())
            throw Error("the left side of the definition of " + d->name +
                        " has an index that is not a Var.\nLegal: " + d->name +
                        "(i, j, ...) = ..., one Var a dimension");
        if (contains(vars, v))
            throw Error("the left side of the definition of " + d->name + " has index " + v +
                        " twice.\nLegal: one Var a dimension");
        vars.push_back(v);
    }
    if (d->declared && vars.size() != d->extents.size())
        throw Error(d->name + " is declared with " + counted(d->extents.size(), "dimension") +
                    " and defined with " + std::to_string(vars.size()) +
                    ".\nLegal: as many indices on the left as extents in the declaration");
    d->op = Map{};
    d->vars = vars;
    d->value = value;
    end_definition(*d, value.type());
}

Tensor::Tensor(const std::string &name) : d(std::make_shared<Definition>()) {
    check_name(name, "tensor");
    d->name = name;
}

Tensor::Tensor(const std::string &name, LateType type, std::vector<Extent> extents, Layout layout)
    : Tensor(name) {
    d->declared = true;
    d->declared_type = type;
    d->extents = std::move(extents);
    d->layout = std::move(layout);
}

Tensor::Tensor(const Comm &c) : Tensor(c.verb + "_" + c.operand.name()) { *this = c; }

Tensor &Tensor::operator=(const Comm &c) {
    begin_definition(*d);
    const DefinitionPtr &operand = c.operand.definition();
    d->op = c.op;
    d->vars = operand->indices();
    d->value = reference(operand, index_exprs(d->vars));
    end_definition(*d, c.type);
    return *this;
}

Comm all_reduce(const Tensor &t) { return all_reduce(t, element_type(t)); }
Comm all_reduce(const Tensor &t, const Type &type) { return reduction("all_reduce", t, type, {}); }
Comm reduce_scatter(const Tensor &t, int dim) { return reduce_scatter(t, dim, element_type(t)); }
Comm reduce_scatter(const Tensor &t, int dim, const Type &type) { return reduction("reduce_scatter", t, type, dim); }
Comm all_gather(const Tensor &t) {
    return {"all_gather", Communication{{From::Owner, {world_axis}, 0, 0}, {}}, t, element_type(t)};
}
Comm broadcast(const Tensor &t, int root) {
    return {"broadcast", Communication{{From::Rank, {world_axis}, root}, {}}, t, element_type(t)};
}
Edge fill(const Expr &value) {
    if (!value.defined() || has_index(value))
        throw Error(
            "fill(...) of a shift: one value for all elements, without an index."
            "\nLegal: fill(0.0f), or an Expr of scalars");
    return {Edge::Fill, value};
}
Comm shift(const Tensor &t, int k, const Edge &edge) {
    Type type = element_type(t);
    Communication c{{From::Shift, {world_axis}, -k, -1, edge.kind == Edge::Cyclic}, {}};
    if (edge.kind == Edge::Fill) c.outside = Halide::cast(type, edge.value);
    return {"shift", c, t, type};
}
Comm slice_of(const Tensor &t, int dim) {
    const int n = t.definition()->dimensions();
    if (dim < 0 || dim >= n)
        throw Error("slice_of(" + t.name() + ", " + std::to_string(dim) + "): " + t.name() + " has " +
                    counted(size_t(n), "dimension") + "." +
                    "\nLegal: " +
                    (n ? "a dimension from 0 to " + std::to_string(n - 1) : t.name() + " itself, which has no slices"));
    return {"slice_of", Map{dim}, t, element_type(t)};
}

Tensor map_tensors(const std::string &what, const std::vector<Tensor> &operands,
                   const std::function<Expr(const std::vector<Expr> &)> &f) {
    auto d = std::make_shared<Definition>();
    int dims = 0;
    for (auto &t : operands) {
        if (d->name.size() < 64) d->name += (d->name.empty() ? what + "_" : "_") + t.name().substr(0, 64);
        dims = std::max(dims, t.definition()->dimensions());
    }
    d->vars = default_indices(dims);
    // Indices of the same name as the operand's own read better: take them from the first defined operand of full rank.
    for (auto &t : operands)
        if (t.definition()->defined && t.definition()->dimensions() == dims) d->vars = t.definition()->vars;
    std::vector<Expr> values;
    for (auto &t : operands) {
        Names last(d->vars.end() - t.definition()->dimensions(), d->vars.end());
        values.push_back(reference(t.definition(), index_exprs(last)));
    }
    d->anonymous = true;
    d->value = f(values);
    end_definition(*d, d->value.type());
    return Tensor(d);
}

Tensor cast(const Type &type, const Tensor &t) {
    return map_tensors("cast", {t}, [&](const std::vector<Expr> &x) { return Halide::cast(type, x[0]); });
}
Tensor operator-(const Tensor &t) {
    return map_tensors("minus", {t}, [](const std::vector<Expr> &x) { return -x[0]; });
}
Tensor sqrt(const Tensor &t) {
    return map_tensors("sqrt", {t}, [](const std::vector<Expr> &x) { return sqrt(x[0]); });
}
Tensor exp(const Tensor &t) {
    return map_tensors("exp", {t}, [](const std::vector<Expr> &x) { return exp(x[0]); });
}
Tensor max(const Tensor &a, const Tensor &b) {
    return map_tensors("max", {a, b}, [](const std::vector<Expr> &x) { return max(x[0], x[1]); });
}
Tensor min(const Tensor &a, const Tensor &b) {
    return map_tensors("min", {a, b}, [](const std::vector<Expr> &x) { return min(x[0], x[1]); });
}
#define STRETTO_TENSOR_OPERATOR(OP, NAME)                                                          \
    Tensor operator OP(const Tensor &a, const Tensor &b) {                                         \
        return map_tensors(NAME, {a, b}, [](const std::vector<Expr> &x) { return x[0] OP x[1]; }); \
    }                                                                                              \
    Tensor operator OP(const Tensor &a, const Expr &b) {                                           \
        return map_tensors(NAME, {a}, [&](const std::vector<Expr> &x) { return x[0] OP b; });      \
    }                                                                                              \
    Tensor operator OP(const Expr &a, const Tensor &b) {                                           \
        return map_tensors(NAME, {b}, [&](const std::vector<Expr> &x) { return a OP x[0]; });      \
    }                                                                                              \
    Tensor operator OP(const Tensor &a, double b) {                                                \
        return map_tensors(NAME, {a}, [&](const std::vector<Expr> &x) { return x[0] OP b; });      \
    }                                                                                              \
    Tensor operator OP(double a, const Tensor &b) {                                                \
        return map_tensors(NAME, {b}, [&](const std::vector<Expr> &x) { return a OP x[0]; });      \
    }
STRETTO_TENSOR_OPERATOR(+, "sum")
STRETTO_TENSOR_OPERATOR(-, "difference")
STRETTO_TENSOR_OPERATOR(*, "product")
STRETTO_TENSOR_OPERATOR(/, "quotient")
#undef STRETTO_TENSOR_OPERATOR

IndexReduction::IndexReduction(ReduceOp op, std::vector<Var> over, const Expr &value, bool root)
    : op(op), over(std::move(over)), value(value), root(root) {
    if (this->over.empty())
        throw Error("a reduction over no index.\nLegal: sum_over(k, ...), sum_over({i, j}, ...)");
    if (!value.defined())
        throw Error("a reduction of an Expr without a value.\nLegal: an Expr of indices, tensors and scalars");
    if (value.type().is_bool())
        throw Error(
            "a reduction of a condition, which has no number.\n"
            "Legal: what counts, sum_over(k, cast<int32_t>(condition)); max_over(k, cast<uint8_t>(condition))");
    for (size_t i = 0; i < this->over.size(); i++)
        for (size_t k = 0; k < i; k++)
            if (this->over[i].name() == this->over[k].name())
                throw Error("a reduction over index " + this->over[i].name() + " twice.\nLegal: each index once");
}
IndexReduction IndexReduction::blocks(const Var &k) const {
    IndexReduction r = *this;
    for (size_t i = 0; i < over.size(); i++)
        if (over[i].name() == k.name()) {
            r.split = int(i);
            return r;
        }
    throw Error(".blocks(" + k.name() + "): " + k.name() + " is not a reduced index.\nLegal: one of " +
                join(over, [](const Var &v) { return v.name(); }));
}
IndexReduction IndexReduction::any_order() const {
    IndexReduction r = *this;
    r.free_order = true;
    return r;
}
IndexReduction::operator Expr() const {
    // The root is taken in the accumulator's type: of float16 the square of a value, or of the norm, may be infinite.
    Expr x = root ? cast(accumulator_type(value.type()), value) : value, e = root ? x * x : x;
    std::vector<Expr> args{e, Expr(int(op)), Expr(split), Expr(int(free_order))};
    for (auto &v : over) args.push_back(v);
    Expr r = Call::make(e.type(), "stretto_reduce", args, Call::PureExtern);
    return root ? cast(value.type(), sqrt(r)) : r;
}
IndexReduction sum_over(const Var &k, const Expr &e) { return {Sum, {k}, e}; }
IndexReduction prod_over(const Var &k, const Expr &e) { return {Prod, {k}, e}; }
IndexReduction max_over(const Var &k, const Expr &e) { return {ReduceOp::Max, {k}, e}; }
IndexReduction min_over(const Var &k, const Expr &e) { return {ReduceOp::Min, {k}, e}; }
IndexReduction norm2(const Var &k, const Expr &e) { return {Sum, {k}, e, true}; }
IndexReduction sum_over(const std::vector<Var> &k, const Expr &e) { return {Sum, k, e}; }
IndexReduction prod_over(const std::vector<Var> &k, const Expr &e) { return {Prod, k, e}; }
IndexReduction max_over(const std::vector<Var> &k, const Expr &e) { return {ReduceOp::Max, k, e}; }
IndexReduction min_over(const std::vector<Var> &k, const Expr &e) { return {ReduceOp::Min, k, e}; }
IndexReduction norm2(const std::vector<Var> &k, const Expr &e) { return {Sum, k, e, true}; }

Expr erf(Expr &x) { return erf(Expr(x)); }

Expr erf(Expr &&x) {
    check_value(x, "the operand of erf");
    Type t = x.type().is_float() ? x.type() : f32;
    const char *suffix = t == f16 ? "f16" : t == bf16 ? "bf16"
                                        : t == f64    ? "f64"
                                                      : "f32";
    return Call::make(t, std::string("erf_") + suffix, {Halide::cast(t, x)}, Call::PureExtern);
}

Expr ranks() { return ranks_value(); }
Expr rank() { return rank_value(); }
Expr random(const Expr &seed) { return random_placeholder(seed, -1, {}); }
Expr random(const Expr &seed, int stream, const std::vector<Var> &indices) {
    if (stream < 0)
        throw Error("random(...): stream " + std::to_string(stream) + " is negative.\nLegal: 0 and above");
    return random_placeholder(seed, stream, {indices.begin(), indices.end()});
}

namespace {
Expr drop(const Expr &e, const Expr &rate, const Expr &uniform) {
    check_value(e, "the operand of dropout");
    Expr r = Halide::cast<float>(rate), scale = Halide::cast(e.type(), 1.0f / (1.0f - r));
    return select(uniform < r, make_zero(e.type()), e * scale);
}
}  // namespace

Expr dropout(const Expr &e, const Expr &rate, const Expr &seed) { return drop(e, rate, random(seed)); }
Expr dropout(const Expr &e, const Expr &rate, const Expr &seed, int stream, const std::vector<Var> &indices) {
    return drop(e, rate, random(seed, stream, indices));
}

}  // namespace stretto
