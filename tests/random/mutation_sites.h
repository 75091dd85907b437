// What there is in a sketch to be changed.
#pragma once
#include "lang/text.h"
#include "tests/random/mutations.h"

namespace stretto {

using Change = std::function<Expr(Writer &, const Expr &)>;

inline std::vector<Sketch::Argument *> arguments_where(Sketch &s, const std::function<bool(const Sketch::Argument &)> &f) {
    std::vector<Sketch::Argument *> found;
    for (auto &a : s.arguments)
        if (f(a)) found.push_back(&a);
    return found;
}
inline bool is_tensor(const Sketch::Argument &a) { return a.tensor >= 0; }
inline bool is_scalar(const Sketch::Argument &a) { return a.tensor < 0; }
inline Sketch::Named &named(Sketch &s, const Sketch::Argument &a) { return s.tensors[size_t(a.tensor)]; }

inline std::vector<Sketch::Statement *> statements_where(Sketch &s, const std::function<bool(const Sketch::Statement &)> &f) {
    std::vector<Sketch::Statement *> found;
    for (auto &x : s.statements)
        if (f(x)) found.push_back(&x);
    return found;
}
inline bool is_formula(const Sketch::Statement &x) { return x.verb.empty(); }
inline bool is_communication(const Sketch::Statement &x) { return !x.verb.empty(); }

// The parts of all formulas for which f holds. Constants are left out: some say how a reduction is meant.
inline std::vector<Expr> parts_where(Sketch &s, const std::function<bool(const Expr &)> &f) {
    std::vector<Expr> found;
    for (auto *x : statements_where(s, is_formula))
        for_each_part(x->value, [&](const Expr &e) {
            if (!Halide::Internal::is_const(e) && f(e)) found.push_back(e);
        });
    return found;
}
inline bool is_read(const Expr &e) { return as_access(e); }
inline bool is_reduction(const Expr &e) {
    auto *c = e.as<Halide::Internal::Call>();
    return c && c->name == "stretto_reduce";
}

inline std::string change(Sketch &s, Draw &draw, const std::vector<Expr> &sites, const std::string &what, Change f) {
    if (sites.empty()) return "";
    s.site = draw.pick(sites);
    s.instead = std::move(f);
    return what;
}

inline Names indices_of_program(const Sketch &s) {
    Names all;
    for (auto &x : s.statements)
        for (auto &i : x.left)
            if (!contains(all, bare_index(i))) all.push_back(bare_index(i));
    return all;
}

inline Type any_type(Draw &draw) { return draw.pick(tensor_types()); }
// Also what no tensor can have.
inline Type odd_type(Draw &draw) {
    const Type element = any_type(draw);
    return draw.pick<Type>({element, Halide::Bool(), Halide::Int(24), Halide::Float(32, 4), Halide::UInt(1, 8),
                            Halide::Handle(), Type()});
}
inline Layout any_layout(Draw &draw) {
    return draw.pick<Layout>({replicated, sliced(0), sliced(1), sliced(3), partial(Sum), partial(Prod), partial(ReduceOp::Max),
                              partial(ReduceOp::Min), local});
}

// Of one expression, as part of a formula.
std::vector<Mutation> mutations_of_expressions();

}  // namespace stretto
