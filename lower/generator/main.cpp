#include <iostream>
#include "lower/generator/command_line.h"

int main(int argc, char **argv) {
    return stretto::run_command_line({argv + 1, argv + argc}, std::cout, std::cerr);
}
