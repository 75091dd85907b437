// A verb is its fields. It lists them once, in the order in which they are written, the subject first:
//
//     struct Split {
//         NodeId tensor = -1;
//         int dim = 0;
//
//         static constexpr const char *name = "split";
//         static constexpr const char *no_moves = "no split; ...";  // what is said if nothing is legal
//         template <class V, class F>
//         static void fields(V &v, F &f) { f.tensor("tensor", v.tensor), f.number("dim", v.dim, may_be_left_out); }
//         static std::vector<Split> moves(const Graph &);  // what is legal on a graph; of many sets the largest
//     };
//     Graph apply(const Graph &, const Split &);               // throws an Error with the reason alone
//
// Text, C++, parsing, lists of what is legal and random arguments follow: each is an F, with functions tensor, tensors,
// argument, number and algorithm.
#pragma once
#include "schedule/nodes.h"
#include "schedule/refuse.h"

namespace stretto {

inline constexpr bool may_be_left_out = true;

// How a node is written: its name in text, an expression in C++.
using Naming = std::function<std::string(NodeId)>;

// "OneShot"
std::string to_string(Algorithm);

// Each field as it is written.
class FieldTexts {
    const Graph &g;
    Naming name;

public:
    Names texts;

    explicit FieldTexts(const Graph &g, const Naming &name = {})
        : g(g), name(name ? name : [&g](NodeId id) { return g.identities.at(size_t(id)).name; }) {}
    void tensor(const char *, NodeId id) { texts.push_back(name(id)); }
    void tensors(const char *, const NodeIds &ids) {
        texts.push_back("{" + join(ids, name) + "}");
    }
    void argument(const char *, ArgumentId a) { texts.push_back(g.arguments[size_t(a)].name); }
    void number(const char *, int n, bool = false) { texts.push_back(std::to_string(n)); }
    void algorithm(const char *, Algorithm a) { texts.push_back(to_string(a)); }
};

template <class V>
Names field_texts(const Graph &g, const V &v, const Naming &name = {}) {
    FieldTexts f(g, name);
    V::fields(v, f);
    return f.texts;
}

// split(gsum, 0)
template <class V>
std::string text_of(const Graph &g, const V &v, const Naming &name = {}) {
    return V::name + ("(" + join(field_texts(g, v, name))) + ")";
}

// "s.split(gsum, 0)", of each.
template <class V>
Names as_code(const Graph &g, const std::vector<V> &verbs) {
    return mapped(verbs, [&](const V &v) { return "s." + text_of(g, v); });
}

// Those that have the subject of v.
template <class V>
std::vector<V> with_subject_of(const Graph &g, const V &v, const std::vector<V> &verbs) {
    std::vector<V> like;
    const Names written = field_texts(g, v);
    for (auto &m : verbs)
        if (!written.empty() && field_texts(g, m)[0] == written[0]) like.push_back(m);
    return like;
}

// Those that are applied without an Error.
template <class V>
std::vector<V> legal_of(const Graph &g, const std::vector<V> &candidates) {
    std::vector<V> legal;
    for (auto &v : candidates)
        if (succeeds([&] { apply(g, v); })) legal.push_back(v);
    return legal;
}

}  // namespace stretto
