// Rows as nccl-tests prints them, a closing table of ratios, and the same as JSON.
#pragma once
#include <string>
#include <vector>

#include "options.h"

namespace perf {

struct Row {
    int64_t size = 0, count = 0;  // bytes and elements of the operand on one rank
    std::string schedule;
    std::vector<double> seconds;              // a step, of the slowest rank; one a round
    double bytes_moved = 0;                   // what a step has to move, all ranks together
    int64_t wrong = -1;                       // elements, all ranks together; -1: not checked
    double sent = 0, loaded = 0, stored = 0;  // bytes a step, of the rank with the most

    double time() const;  // the median
};

double median(std::vector<double>);
// The median over rounds of how much longer one takes than the other: a[k] / b[k].
double median_ratio(const std::vector<double> &a, const std::vector<double> &b);
// Of the rows of one size that are peers: the shortest in each round. Empty without peers.
std::vector<double> peer_seconds(const std::vector<Row> &rows, int64_t size);

void print_header(const std::string &title, const Options &);
void print_row(const Row &, const Options &);
// A line a size: how many times longer the peer takes, by schedule; and fused over default where both are there.
void print_ratios(const std::vector<Row> &, const Options &);
// Throws std::runtime_error when the file cannot be written.
void write_json(const std::vector<Row> &, const std::string &program, const Options &);

}  // namespace perf
