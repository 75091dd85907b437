// Lists, and lists in messages.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace stretto {

template <class T>
bool contains(const std::vector<T> &all, const T &x) {
    return std::find(all.begin(), all.end(), x) != all.end();
}

// f of each.
template <class All, class F>
auto mapped(const All &all, const F &f) {
    std::vector<decltype(f(*all.begin()))> values;
    for (auto &x : all) values.push_back(f(x));
    return values;
}

// "a, b, c"
std::string join(const std::vector<std::string> &);
// The texts that f gives of each.
template <class All, class F>
std::string join(const All &all, const F &f) {
    return join(mapped(all, f));
}
// "a", "a and b", "a, b and c"
std::string list(const std::vector<std::string> &);
// "1 dimension", "2 dimensions"
std::string counted(size_t n, const std::string &one);

}  // namespace stretto
