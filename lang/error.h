// The error of the compiler half: language, schedules, lowering. What was written, why it is refused, every legal alternative.
#pragma once
#include <stdexcept>
#include <string>

namespace stretto {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace stretto
