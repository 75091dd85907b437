#include "schedule/verb.h"
#include <algorithm>

namespace stretto {

namespace {

const size_t few = 6;  // so many moves are all shown

template <size_t... I>
std::vector<Verb> one_of_each(std::index_sequence<I...>) {
    return {std::variant_alternative_t<I, Verb>{}...};
}

// What a verb says of its own before its moves are looked at.
template <class V>
Names instead(const Graph &, const V &) { return {}; }

// All moves with the subject of v, or else all if they are few, or else of each subject the one that has most in common with v.
template <class V>
Names nearest(const Graph &g, const V &v) {
    const std::vector<V> all = V::moves(g), like = with_subject_of(g, v, all), &moves = like.empty() ? all : like;
    const Names written = field_texts(g, v);
    std::map<std::string, std::pair<long, size_t>> best;  // by subject: what they have in common, and the move
    std::vector<V> chosen;
    for (auto &m : moves) {
        const Names fields = field_texts(g, m);
        if (moves.size() <= few || fields.empty() || fields[0] == written[0]) {
            chosen.push_back(m);
            continue;
        }
        long common = 0;
        for (size_t i = 1; i < fields.size(); i++) common += fields[i] == written[i];
        auto [at, fresh] = best.insert({fields[0], {common, chosen.size()}});
        if (fresh)
            chosen.push_back(m);
        else if (at->second.first < common)
            chosen[at->second.second] = m, at->second.first = common;
    }
    return as_code(g, chosen);
}

}  // namespace

const std::vector<Verb> &all_verbs() {
    static const std::vector<Verb> all = one_of_each(std::make_index_sequence<std::variant_size_v<Verb>>());
    return all;
}

std::string name_of(const Verb &verb) {
    return std::visit([](auto &v) { return std::string(v.name); }, verb);
}

Graph apply(const Graph &g, const Verb &verb) {
    return std::visit([&](auto &v) { return apply(g, v); }, verb);
}

std::string text_of(const Graph &g, const Verb &verb, const Naming &name) {
    return std::visit([&](auto &v) { return text_of(g, v, name); }, verb);
}

Made made_by(const Verb &verb) {
    if (auto *v = std::get_if<Split>(&verb)) return {v->tensor, {Role::ReduceScatter, Role::AllGather}};
    return {};
}

void refuse(const Graph &g, const Verb &verb, const std::string &why) {
    std::visit(
        [&](auto &v) {
            Names legal = instead(g, v);
            refuse(why, legal.empty() ? nearest(g, v) : legal, v.no_moves);
        },
        verb);
    throw Error(why);
}

}  // namespace stretto
