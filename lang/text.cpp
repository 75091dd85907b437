#include "lang/text.h"

namespace stretto {

std::string join(const std::vector<std::string> &v) {
    std::string s;
    for (auto &x : v) s += (s.empty() ? "" : ", ") + x;
    return s;
}

std::string list(const std::vector<std::string> &v) {
    if (v.size() < 2) return join(v);
    return join({v.begin(), v.end() - 1}) + " and " + v.back();
}

std::string counted(size_t n, const std::string &one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); }

}  // namespace stretto
