#include <algorithm>
#include "tests/random/mutation_sites.h"

namespace stretto {

namespace {

using Argument = Sketch::Argument;
using Statement = Sketch::Statement;

std::string layout_of_argument(Sketch &s, Draw &draw) {
    Argument *a = draw.pick(arguments_where(s, is_tensor));
    named(s, *a).layout = any_layout(draw);
    return named(s, *a).name + " is " + to_string(named(s, *a).layout);
}

std::string type_of_argument(Sketch &s, Draw &draw) {
    Argument *a = draw.pick(arguments_where(s, is_tensor));
    named(s, *a).type = odd_type(draw);
    return "type of " + named(s, *a).name;
}

std::string type_of_scalar(Sketch &s, Draw &draw) {
    Argument *a = draw.pick(arguments_where(s, is_scalar));
    a->type = draw.pick<Type>({f32, f64, i32, i64, u8, u64, Halide::Bool()});
    return "type of " + a->name;
}

std::string extent_of_argument(Sketch &s, Draw &draw) {
    Argument *a = draw.pick(arguments_where(s, [](auto &a) { return a.tensor >= 0; }));
    auto &extents = named(s, *a).extents;
    const int k = draw.below(4);
    if (k == 0) extents.emplace_back(draw.below(4));
    if (k == 1 && !extents.empty()) extents.pop_back();
    if (k >= 2 && !extents.empty())
        extents[size_t(draw.below(int(extents.size())))] =
            draw.chance(50) ? Extent(draw.pick<int>({-1, 0, 1, 7})) : Extent(Size(draw.pick<std::string>({"a", "b", "other"})));
    return "extents of " + named(s, *a).name;
}

std::string any_name(Draw &draw, const Names &taken) {
    static const Names odd = {"", "1a", "a.b", "a b", "int", "class", "comm", "_", "i", "j", "block", "x\n", "size.a",
                              "world", "ranks", "main", "t0", std::string(300, 'n')};
    return draw.pick(draw.chance(60) ? taken : odd);
}

std::string name(Sketch &s, Draw &draw) {
    Names taken;
    for (auto &t : s.tensors) taken.push_back(t.name);
    for (auto *a : arguments_where(s, is_scalar)) taken.push_back(a->name);
    taken.push_back("a");  // a size
    const std::string to = any_name(draw, taken);
    if (draw.chance(25)) {
        Argument *a = draw.pick(arguments_where(s, is_scalar));
        const std::string was = a->name;
        a->name = to;
        return "scalar " + was + " is called " + to;
    }
    auto &t = s.tensors[size_t(draw.below(int(s.tensors.size())))];
    const std::string was = t.name;
    t.name = to;
    return "tensor " + was + " is called " + to;
}

std::string name_of_index(Sketch &s, Draw &draw) {
    const std::string to = any_name(draw, {"i", "j", "k", "a", "rate", "t0", "x0"});
    const Names all = indices_of_program(s);
    if (all.empty()) return "";
    const std::string from = draw.pick(all);
    for (auto &x : s.statements) {
        for (auto &i : x.left)
            if (bare_index(i) == from) i = index(to);
        x.value = substitute_indices(x.value, {from}, {index(to)});
    }
    return "index " + from + " is called " + to;
}

// A tensor that is defined later is used, a statement is written twice, or is missing.
std::string order(Sketch &s, Draw &draw) {
    if (s.statements.size() < 2) return "";
    const size_t k = size_t(draw.below(int(s.statements.size()))), m = size_t(draw.below(int(s.statements.size())));
    switch (draw.below(3)) {
    case 0: std::swap(s.statements[k], s.statements[m]); return "two statements change places";
    case 1: s.statements.push_back(s.statements[k]); return "a statement is written twice";
    default: s.statements.erase(s.statements.begin() + long(k)); return "a statement is missing";
    }
}

std::string aliasing(Sketch &s, Draw &draw) {
    auto in_outs = arguments_where(s, [](auto &a) { return a.access == Access::InOut; });
    auto any = [&] { return draw.below(int(s.tensors.size())); };
    switch (draw.below(6)) {
    case 0: draw.pick(in_outs)->updates.push_back(any()); return "a second update";
    case 1: draw.pick(in_outs)->updates = {any()}; return "an update by another tensor";
    case 2: draw.pick(in_outs)->updates = {draw.pick(in_outs)->tensor}; return "an update by a value at entry";
    case 3: {
        Argument *a = draw.pick(in_outs), *b = draw.pick(in_outs);
        b->updates = a->updates;
        return "two updates by one tensor";
    }
    case 4:
        if (s.statements.empty()) return "";
        s.statements[size_t(draw.below(int(s.statements.size())))].tensor = any();
        return "a definition of another tensor";
    default: s.listed.push_back(draw.pick(s.listed)); return "an argument is listed twice";
    }
}

std::string missing(Sketch &s, Draw &draw) {
    if (draw.chance(70)) {
        s.listed.erase(s.listed.begin() + draw.below(int(s.listed.size())));
        return "an argument is not listed";
    }
    if (draw.chance(50)) {
        s.listed.clear();
        return "no argument is listed";
    }
    for (auto &a : s.arguments) a.updates.clear();
    return "no update";
}

std::string left_side(Sketch &s, Draw &draw) {
    auto formulas = statements_where(s, is_formula);
    if (formulas.empty()) return "";
    auto &left = draw.pick(formulas)->left;
    switch (draw.below(6)) {
    case 0: left.push_back(index("extra")); return "an index more on the left";
    case 1:
        if (!left.empty()) left.pop_back();
        return "an index less on the left";
    case 2:
        if (left.size() > 1) left[0] = left[1];
        return "an index twice on the left";
    case 3:
        if (!left.empty()) left[0] = left[0] + 1;
        return "no index on the left";
    case 4:
        if (!left.empty()) left[0] = Expr();
        return "no expression on the left";
    default: std::reverse(left.begin(), left.end()); return "the left side reversed";
    }
}

std::string communication(Sketch &s, Draw &draw) {
    auto all = statements_where(s, is_communication);
    if (all.empty()) return "";
    Statement &x = *draw.pick(all);
    switch (draw.below(4)) {
    case 0:
        x.verb = draw.pick<std::string>({"all_reduce", "reduce_scatter", "all_gather", "broadcast", "shift", "slice_of"});
        return "communication " + x.verb;
    case 1: x.number = draw.pick<int>({-1, 0, 1, 2, 7, 2147483647, -2147483647 - 1}); return "number of " + x.verb;
    case 2: x.type = odd_type(draw); return "type of " + x.verb;
    default:
        x.verb = "shift";
        x.edge = draw.chance(30) ? draw.pick<Edge>({cyclic, keep})
                                 : Edge{Edge::Fill, draw.pick<Expr>({Expr(1.5f), Expr(1e300), index("i"), Expr()})};
        return "a shift";
    }
}

std::string operand(Sketch &s, Draw &draw) {
    auto all = statements_where(s, is_communication);
    if (all.empty()) return "";
    Statement &x = *draw.pick(all);
    x.operand = draw.below(int(s.tensors.size()));
    return "operand of " + x.verb;
}

// A communication more, of any tensor, which is read where that was.
std::string added_communication(Sketch &s, Draw &draw) {
    auto sites = parts_where(s, is_read);
    if (sites.empty()) return "";
    const Expr site = draw.pick(sites);
    Statement x;
    x.verb = draw.pick<std::string>({"all_reduce", "reduce_scatter", "all_gather", "broadcast", "shift", "slice_of"});
    x.operand = accessed(as_access(site));
    x.number = draw.below(3);
    x.tensor = int(s.tensors.size());
    s.tensors.push_back({"added", false, {}, {}, {}});
    auto reads = [&](const Statement &y) {
        bool found = false;
        for_each_part(y.value, [&](const Expr &e) { found |= e.same_as(site); });
        return found;
    };
    auto at = std::find_if(s.statements.begin(), s.statements.end(), reads);
    s.statements.insert(at, x);
    s.site = site;
    s.instead = [=](Writer &w, const Expr &e) { return w.read(x.tensor, w.mutate(indices_of(as_access(e)))); };
    return x.verb + " of a tensor that is read";
}

std::string declaration(Sketch &s, Draw &draw) {
    Statement *x = draw.pick(statements_where(s, [](auto &) { return true; }));
    auto &t = s.tensors[size_t(x->tensor)];
    t.declared = true;
    t.type = draw.chance(50) && !x->value.type().is_handle() ? x->type : odd_type(draw);
    t.extents.clear();
    for (size_t k = x->left.size() + (draw.chance(10) ? 1 : 0); k > 0; k--)
        t.extents.push_back(draw.pick<Extent>({Extent(Size("a")), Extent(Size("b")), Extent(3)}));
    t.layout = draw.chance(60) ? replicated : any_layout(draw);
    return t.name + " is declared";
}

std::string requirement(Sketch &s, Draw &draw) {
    auto all = parts_where(s, [](const Expr &e) { return !e.type().is_handle(); });
    if (all.empty()) return "";
    const Expr e = draw.pick(all);
    switch (draw.below(6)) {
    case 0: s.requirements.push_back({e, "text"}); return "requires any value";
    case 1: s.requirements.push_back({Halide::cast<bool>(e), "text"}); return "requires any condition";
    case 2: s.requirements.push_back({Expr(), "text"}); return "requires an expression without a value";
    case 3: s.requirements.push_back({rank() == 0, ""}); return "requires a rank";
    case 4: s.requirements.push_back({size_value("other") >= 0, std::string("%s%n\n") + char(1)}); return "requires a new size";
    default: s.requirements.push_back({scalar_argument(f32, "nobody") > 0, "text"}); return "requires an unknown scalar";
    }
}

std::string range(Sketch &s, Draw &draw) {
    const double inf = std::numeric_limits<double>::infinity();
    Argument *a = draw.pick(arguments_where(s, [](auto &a) { return a.access != Access::Output; }));
    using Range = std::pair<double, double>;
    a->range = draw.pick<Range>({{5, 1}, {-1, 1}, {0, 1e300}, {-inf, inf}, {NAN, 1}, {-5, -1}, {0.25, 0.75}});
    return "range of " + (a->tensor < 0 ? a->name : named(s, *a).name);
}

std::string nothing(Sketch &, Draw &) { return "nothing is changed"; }

}  // namespace

const std::vector<Mutation> &mutations() {
    static const std::vector<Mutation> all = [] {
        std::vector<Mutation> all = mutations_of_expressions();
        all.insert(all.end(), {{"added communication", added_communication},
                               {"aliasing", aliasing},
                               {"communication", communication},
                               {"declaration", declaration},
                               {"extent", extent_of_argument},
                               {"layout", layout_of_argument},
                               {"left side", left_side},
                               {"missing", missing},
                               {"name", name},
                               {"name of an index", name_of_index},
                               {"nothing", nothing},
                               {"operand of a communication", operand},
                               {"order", order},
                               {"range", range},
                               {"requirement", requirement},
                               {"type", type_of_argument},
                               {"type of a scalar", type_of_scalar}});
        return all;
    }();
    return all;
}

}  // namespace stretto
