// What a lesson says is checked: a claim is printed, and the lesson's exit status is that all of
// them hold.
#pragma once
#include <cstdio>
#include <string>

namespace lesson {

inline int broken_claims = 0;

inline void claim(const std::string &text, bool holds) {
    std::printf("%s %s\n", holds ? "[holds]" : "[DOES NOT HOLD]", text.c_str());
    broken_claims += !holds;
}

inline void title(const std::string &text) {
    std::printf("\n---- %s\n", text.c_str());
}

// return lesson::status();
inline int status() {
    return broken_claims ? 1 : 0;
}

}  // namespace lesson
