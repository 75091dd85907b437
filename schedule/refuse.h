// How a verb says no: why, and every legal alternative as code.
#pragma once
#include <functional>
#include <string>
#include <vector>
#include "lang/error.h"
#include "lang/text.h"

namespace stretto {

// A reason of one or several lines. The schedule adds what was written and, searched only then, the alternatives.
[[noreturn]] void refuse(const std::string &why);

// Throws an Error with the text
//       <why, each line indented>
//     Legal: s.split(gsum, 0); s.split(gsum, 1);
// or, if there is no alternative, with `otherwise` (a sentence that says what would have to come first) after "Legal: ".
[[noreturn]] void refuse(const std::string &why, const std::vector<std::string> &legal, const std::string &otherwise);

// Does f() not throw an Error? For the search for alternatives.
bool succeeds(const std::function<void()> &f);

// The reason alone of an error of the language ("In program x: cannot ...\n  <reason>\nLegal: ...") or of a verb.
std::string reason_of(const Error &);

}  // namespace stretto
