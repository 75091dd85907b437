#include "lang/results.h"
#include "lang/error.h"
#include "lang/print.h"

namespace stretto {

void check_results(const Graph &g) {
    for (auto &r : g.results) {
        const Argument &a = g.arguments[r.argument];
        const Node &v = g.at(r.node);
        std::string what = a.access == Access::Output ? "output " : "argument ";
        // The value is a tensor of its own, the definition of the output itself, or an unnamed one in update(a, ...).
        bool own = v.origin.role == Role::Own && v.name == a.name, unnamed = v.origin.role == Role::NewValue;
        std::string value = own ? "its definition" : unnamed ? "its new value"
                                                             : v.name;
        std::string t = own || unnamed ? "t" : v.name;
        auto refuse = [&](const std::string &why, const std::string &legal) {
            throw Error("In program " + g.program + ": " + what + a.name + " cannot take the value of " +
                        definition_text(g, v) +
                        ".\n  " + why + "\nLegal: " + legal);
        };
        if (v.type != a.type)
            refuse(a.name + " is " + type_name(a.type) + ", " + value + " is " + type_name(v.type) + ".",
                   "cast<" + cpp_type_name(a.type) + ">(...)");
        if (v.dims() != a.dims)
            refuse(a.name + " has extents {" + to_string(g, a.dims) + "}, " + value + " has {" + to_string(g, v.dims()) + "}.",
                   "a value with extents {" + to_string(g, a.dims) + "}");
        bool into_local = a.layout.is_local() && v.layout.is_replicated();
        if (v.layout == a.layout || into_local) continue;
        std::string d = std::to_string(a.layout.first_sliced()), legal;
        if (own) legal = "with t in place of " + a.name + " on the left: ";
        std::string whole;
        if (v.layout.is_partial()) whole = "all_reduce(" + t + ")";
        if (v.layout.is_sliced()) whole = "all_gather(" + t + ")";
        if (v.layout.is_local()) whole = "broadcast(" + t + ", root)";
        if (a.layout.is_replicated() || (a.layout.is_local() && !whole.empty()))
            legal += a.name + " = " + whole + "; or ";
        else if (a.layout.is_sliced() && v.layout.is_partial())
            legal += a.name + " = reduce_scatter(" + t + ", " + d + "); or ";
        else if (a.layout.is_sliced() && whole.empty())
            legal += a.name + " = slice_of(" + t + ", " + d + "); or ";
        else if (a.layout.is_sliced())
            legal += a.name + " = slice_of(x, " + d + "), x = " + whole + "; or ";
        else
            legal = "";
        refuse(a.name + " is " + to_string(a.layout) + ", " + value + " is " + to_string(v.layout) + ".",
               legal + "declare " + a.name + " as " + to_string(v.layout));
    }
}

}  // namespace stretto
