#include <algorithm>
#include "tests/random/mutation_sites.h"

namespace stretto {

namespace {

std::string index_of_read(Sketch &s, Draw &draw) {
    const Names all = indices_of_program(s);
    const int kind = draw.below(13), which = draw.below(4), other = draw.below(1000);
    const std::string v = all.empty() ? "i" : draw.pick(all);
    auto sites = parts_where(s, [&](const Expr &e) { return is_read(e) && (kind == 0 || as_access(e)->args.size() > 1); });
    return change(s, draw, sites, "index of a read, kind " + std::to_string(kind), [=, &s](Writer &w, const Expr &e) {
        std::vector<Expr> at = w.mutate(indices_of(as_access(e)));
        const size_t k = at.empty() ? 0 : size_t(which) % at.size();
        switch (kind) {
        case 0: at.push_back(index(v)); break;
        case 1: at.pop_back(); break;
        case 2: at[k] = Expr(); break;
        case 3: at[k] = Halide::cast<float>(at[k]); break;
        case 4: at[k] = at[k] + 1; break;
        case 5: at[k] = at[k] - 1; break;
        case 6: at[k] = 0; break;
        case 7: at[k] = index(v); break;
        case 8: std::reverse(at.begin(), at.end()); break;
        case 9: at[k] = rank(); break;
        case 10: at[k] = Halide::cast<int64_t>(at[k]) * Expr(int64_t(3000000000)); break;
        case 11: at[k] = at[k] > 0; break;
        default: {
            const int t = other % int(s.tensors.size());
            at[k] = Halide::cast<int>(w.read(t, std::vector<Expr>(size_t(w.tensor(t).definition()->dimensions()), at[k])));
        }
        }
        return w.read(accessed(as_access(e)), at);
    });
}

std::string another_tensor(Sketch &s, Draw &draw) {
    const int other = draw.below(int(s.tensors.size()));
    return change(s, draw, parts_where(s, is_read), "reads another tensor", [=](Writer &w, const Expr &e) {
        std::vector<Expr> at = w.mutate(indices_of(as_access(e)));
        if (!w.tensor(other).definition()->defined && !w.tensor(other).definition()->declared) return w.read(other, at);
        const size_t n = size_t(w.tensor(other).definition()->dimensions());
        at.resize(n, at.empty() ? Expr(0) : at.back());
        return w.read(other, at);
    });
}

std::string without_value(Sketch &s, Draw &draw) {
    auto all = parts_where(s, [](const Expr &e) { return !e.type().is_handle(); });
    return change(s, draw, all, "an expression without a value", [](Writer &, const Expr &) { return Expr(); });
}

std::string operation(Sketch &s, Draw &draw) {
    static const std::vector<std::pair<const char *, std::function<Expr(const Expr &, const Expr &)>>> operations = {
        {"sqrt", [](auto &x, auto &) { return sqrt(x); }},
        {"exp", [](auto &x, auto &) { return exp(x); }},
        {"fast_log", [](auto &x, auto &) { return fast_log(x); }},
        {"abs", [](auto &x, auto &) { return abs(x); }},
        {"erf", [](auto &x, auto &) { return stretto::erf(Expr(x)); }},
        {"minus", [](auto &x, auto &) { return -x; }},
        {"not", [](auto &x, auto &) { return !x; }},
        {"and", [](auto &x, auto &y) { return x && y; }},
        {"or", [](auto &x, auto &) { return x || x; }},
        {"sum", [](auto &x, auto &y) { return x + y; }},
        {"product", [](auto &x, auto &y) { return x * y; }},
        {"square", [](auto &x, auto &) { return x * x; }},
        {"quotient", [](auto &x, auto &y) { return x / y; }},
        {"remainder", [](auto &x, auto &y) { return x % y; }},
        {"by zero", [](auto &x, auto &) { return x / 0; }},
        {"modulo zero", [](auto &x, auto &) { return x % 0; }},
        {"equal", [](auto &x, auto &y) { return x == y; }},
        {"less", [](auto &x, auto &y) { return x < y; }},
        {"select", [](auto &x, auto &y) { return select(x > 0, x, y); }},
        {"select by a number", [](auto &x, auto &y) { return select(x, x, y); }},
        {"max", [](auto &x, auto &y) { return max(x, y); }},
        {"min", [](auto &x, auto &) { return min(x, 0); }},
        {"clamp", [](auto &x, auto &y) { return clamp(x, 0, y); }},
        {"pow", [](auto &x, auto &y) { return pow(x, y); }},
        {"atan2", [](auto &x, auto &y) { return atan2(x, y); }},
        {"lerp", [](auto &x, auto &y) { return Halide::lerp(x, x, y); }},
        {"shift left", [](auto &x, auto &y) { return x << y; }},
        {"shift right", [](auto &x, auto &) { return x >> 70; }},
        {"bitwise", [](auto &x, auto &y) { return x & y; }},
        {"complement", [](auto &x, auto &) { return ~x; }},
        {"literal", [](auto &x, auto &) { return x * 1e300; }},
        {"integer literal", [](auto &x, auto &) { return x + 300; }},
        {"half", [](auto &x, auto &) { return x * 0.5; }},
        {"round", [](auto &x, auto &) { return round(x); }},
        {"is_nan", [](auto &x, auto &) { return Halide::is_nan(x); }},
        {"reinterpret", [](auto &x, auto &) { return Halide::reinterpret<float>(x); }},
        {"random", [](auto &x, auto &) { return random(x); }},
        {"random with indices", [](auto &x, auto &) { return random(x, 3, {Var("i"), Var("nowhere")}); }},
        {"dropout", [](auto &x, auto &y) { return dropout(x, y, x); }},
        {"rank()", [](auto &x, auto &) { return x + rank(); }},
        {"ranks()", [](auto &x, auto &) { return x * ranks(); }},
        {"a free variable", [](auto &x, auto &) { return x + Var("free"); }},
        {"saturating cast", [](auto &x, auto &) { return Halide::saturating_cast<int8_t>(x); }},
        {"popcount", [](auto &x, auto &) { return Halide::popcount(x); }},
    };
    auto all = parts_where(s, [](const Expr &e) { return !e.type().is_handle(); });
    if (all.empty()) return "";
    const Expr other = draw.pick(all);
    auto &[what, f] = draw.pick(operations);
    return change(s, draw, all, what, [f = f, other](Writer &w, const Expr &e) { return f(w.as_it_is(e), w.as_it_is(other)); });
}

std::string conversion(Sketch &s, Draw &draw) {
    auto all = parts_where(s, [](const Expr &e) { return !e.type().is_handle(); });
    const Type to = odd_type(draw);
    return change(s, draw, all, "a conversion", [to](Writer &w, const Expr &e) { return Halide::cast(to, w.as_it_is(e)); });
}

std::string reduction(Sketch &s, Draw &draw) {
    const Names all = indices_of_program(s);
    const Var i(draw.chance(20) || all.empty() ? "nowhere" : draw.pick(all));
    const Var k(draw.chance(20) || all.empty() ? "k" : draw.pick(all));
    auto sites = parts_where(s, [](const Expr &e) { return !e.type().is_handle(); });
    const int kind = draw.below(10);
    if (kind >= 8) sites = parts_where(s, [](const Expr &e) { return is_read(e) && as_access(e)->args.size() > 1; });
    return change(s, draw, sites, "a reduction, kind " + std::to_string(kind), [=](Writer &w, const Expr &e) -> Expr {
        const Expr x = w.as_it_is(e);
        if (kind >= 8) {  // of what is read, over an index of its own
            std::vector<Expr> at = w.mutate(indices_of(as_access(e)));
            at[0] = Var("r");
            const Expr read = w.read(accessed(as_access(e)), at);
            return kind == 8 ? sum_over(Var("r"), read) : max_over(Var("r"), read).blocks(Var("r"));
        }
        switch (kind) {
        case 0: return sum_over(i, x);
        case 1: return norm2({i, k}, x);
        case 2: return max_over({i, k}, x);
        case 3: return sum_over(i, x).blocks(k);
        case 4: return sum_over({i, k}, x).blocks(k);
        case 5: return sum_over(i, x) + x;
        case 6: return sum_over(std::vector<Var>{}, x);
        default: return sum_over(i, sum_over(k, x)).any_order();
        }
    });
}

// The reduction that there is gets other indices or another operation.
std::string reduced_indices(Sketch &s, Draw &draw) {
    const Names all = indices_of_program(s);
    const Var i(all.empty() ? "i" : draw.pick(all)), k(draw.chance(30) || all.empty() ? "k" : draw.pick(all));
    const int kind = draw.below(4);
    auto sites = parts_where(s, is_reduction);
    return change(s, draw, sites, "reduced indices, kind " + std::to_string(kind), [=](Writer &w, const Expr &e) -> Expr {
        const Expr x = w.mutate(e.as<Halide::Internal::Call>()->args[0]);
        switch (kind) {
        case 0: return sum_over(i, x);
        case 1: return prod_over({i, k}, x);
        case 2: return x;
        default: return norm2(i, x).blocks(k);
        }
    });
}

}  // namespace

std::vector<Mutation> mutations_of_expressions() {
    return {{"another tensor", another_tensor},
            {"conversion", conversion},
            {"index of a read", index_of_read},
            {"operation", operation},
            {"reduced indices", reduced_indices},
            {"reduction", reduction},
            {"without a value", without_value}};
}

}  // namespace stretto
