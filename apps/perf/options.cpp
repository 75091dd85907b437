#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace perf {

int64_t parse_bytes(const std::string &text) {
    size_t digits = 0;
    while (digits < text.size() && isdigit(static_cast<unsigned char>(text[digits]))) digits++;
    std::string suffix = text.substr(digits);
    if (!suffix.empty() && (suffix.back() == 'B' || suffix.back() == 'b')) suffix.pop_back();
    int shift = suffix.empty()                   ? 0
                : suffix.size() > 1              ? -1
                : suffix == "K" || suffix == "k" ? 10
                : suffix == "M" || suffix == "m" ? 20
                : suffix == "G" || suffix == "g" ? 30
                                                 : -1;
    if (!digits || digits > 12 || shift < 0) return -1;
    return std::stoll(text.substr(0, digits)) << shift;
}

std::vector<int64_t> Options::sizes() const {
    std::vector<int64_t> list;
    for (int64_t size = begin; size < end; size *= factor) list.push_back(size);
    list.push_back(end);
    return list;
}

Options parse_options(const Choices &choices, int argc, char **argv) {
    Options o;
    std::string begin = choices.begin, end = choices.end;
    o.factor = choices.factor;
    o.schedules = choices.schedules;
    CLI::App app{choices.description, choices.name};
    app.set_help_flag("-h,--help", "this text");
    auto bytes = CLI::Validator(
        [](std::string &text) {
            return parse_bytes(text) > 0
                       ? std::string()
                       : "`" + text + "` is no size; legal: a number of bytes, or one with K, M or G";
        },
        "BYTES");
    app.add_option("-b,--begin", begin, "smallest size: bytes of the operand on one rank")
        ->check(bytes)
        ->capture_default_str();
    app.add_option("-e,--end", end, "largest size")->check(bytes)->capture_default_str();
    app.add_option("-f,--factor", o.factor, "from one size to the next; the largest is always measured")
        ->check(CLI::Range(int64_t(2), int64_t(1) << 30))
        ->capture_default_str();
    app.add_option(
           "-n,--iters", o.steps,
           "steps of a batch; more until it takes 20 ms, fewer (at least 2) when it would take over 100 ms")
        ->check(CLI::Range(1, 1000000))
        ->capture_default_str();
    app.add_option("-w,--warmup", o.warm_up, "steps before the first batch")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
    app.add_option("-p,--pairs", o.rounds, "batches of each schedule, interleaved; medians are printed")
        ->check(CLI::Range(1, 1001))
        ->capture_default_str();
    app.add_option("-d,--datatype", o.type, "type of the operand")
        ->check(CLI::IsMember(choices.types))
        ->capture_default_str();
    int check = 1;
    app.add_option("-c,--check", check, "1: compare three steps with a serial loop")
        ->check(CLI::Range(0, 1))
        ->capture_default_str();
    app.add_option("-J,--json", o.json, "write the figures to this file as well");
    app.add_option("-r,--ranks", o.ranks, "number of ranks")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("-t,--transport", o.transport,
                   "ranks are threads, processes that share memory, or processes that exchange messages")
        ->check(CLI::IsMember(choices.transports))
        ->capture_default_str();
    app.add_option("-s,--schedules", o.schedules, "what is measured")
        ->delimiter(',')
        ->check(CLI::IsMember(choices.schedules))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) { exit(app.exit(e)); }
    o.check = check;
    o.begin = parse_bytes(begin);
    o.end = parse_bytes(end);
    if (o.begin > o.end) {
        fprintf(stderr, "-b %s is more than -e %s\n", begin.c_str(), end.c_str());
        exit(105);
    }
    return o;
}

}  // namespace perf
