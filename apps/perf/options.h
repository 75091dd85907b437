// The command line of the programs that measure: the options of nccl-tests, and what is Stretto's own.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace perf {

struct Options {
    int64_t begin = 0, end = 0, factor = 4;  // bytes of the operand on one rank
    int steps = 20, warm_up = 5, rounds = 11;
    bool check = true;
    int ranks = 2;
    std::string type = "float", transport = "threads", json;
    std::vector<std::string> schedules;

    // begin, begin * factor, ... and always end.
    std::vector<int64_t> sizes() const;
};

// What a program offers, and its defaults.
struct Choices {
    std::string name, description;
    std::string begin, end;  // "4K"
    int64_t factor = 4;
    std::vector<std::string> types, transports, schedules;
};

// Ends the process for --help and for what is not legal; the text says what is.
Options parse_options(const Choices &, int argc, char **argv);

// 4096 from "4K": a number and K, M or G. -1 when it is none.
int64_t parse_bytes(const std::string &);

}  // namespace perf
