// One thing of a program that is changed: most changes make it wrong, some only unusual.
#pragma once
#include "tests/random/random_expression.h"
#include "tests/random/sketch.h"

namespace stretto {

struct Mutation {
    std::string name;
    // Changes the sketch and says what was changed; "": there is nothing of the kind.
    std::function<std::string(Sketch &, Draw &)> apply;
};

const std::vector<Mutation> &mutations();

}  // namespace stretto
