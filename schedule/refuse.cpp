#include "schedule/refuse.h"

namespace stretto {

namespace {

std::string indented(const std::string &lines) {
    std::string s = "  ";
    for (char c : lines) {
        s += c;
        if (c == '\n') s += "  ";
    }
    return s;
}

}  // namespace

void refuse(const std::string &why) { throw Error(why); }

void refuse(const std::string &why, const std::vector<std::string> &legal, const std::string &otherwise) {
    std::string text = indented(why), calls;
    for (auto &l : legal) calls += (calls.empty() ? "" : " ") + l + ";";
    if (!calls.empty())
        text += "\nLegal: " + calls;
    else if (!otherwise.empty())
        text += "\nLegal: " + otherwise;
    throw Error(text);
}

bool succeeds(const std::function<void()> &f) {
    try {
        f();
        return true;
    } catch (const Error &) { return false; }
}

std::string reason_of(const Error &e) {
    std::string s = e.what();
    if (s.rfind("In program ", 0) == 0) {
        size_t line = s.find("\n  ");
        if (line != std::string::npos) s = s.substr(line + 3);
    }
    return s.substr(0, s.find("\nLegal:"));
}

}  // namespace stretto
