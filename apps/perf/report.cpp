#include "report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace perf {
namespace {

bool is_peer(const std::string &schedule) { return schedule.compare(0, 4, "peer") == 0; }

const Row *find(const std::vector<Row> &rows, int64_t size, const std::string &schedule) {
    for (auto &row : rows)
        if (row.size == size && row.schedule == schedule) return &row;
    return nullptr;
}

}  // namespace

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    size_t middle = v.size() / 2;
    std::nth_element(v.begin(), v.begin() + long(middle), v.end());
    if (v.size() % 2) return v[middle];
    return (v[middle] + *std::max_element(v.begin(), v.begin() + long(middle))) / 2;
}

double median_ratio(const std::vector<double> &a, const std::vector<double> &b) {
    std::vector<double> ratios;
    for (size_t k = 0; k < std::min(a.size(), b.size()); k++) ratios.push_back(a[k] / b[k]);
    return median(ratios);
}

double Row::time() const { return median(seconds); }

std::vector<double> peer_seconds(const std::vector<Row> &rows, int64_t size) {
    std::vector<double> best;
    for (auto &row : rows) {
        if (row.size != size || !is_peer(row.schedule)) continue;
        if (best.empty()) best = row.seconds;
        for (size_t k = 0; k < std::min(best.size(), row.seconds.size()); k++)
            best[k] = std::min(best[k], row.seconds[k]);
    }
    return best;
}

void print_header(const std::string &title, const Options &o) {
    printf(
        "# %s\n# %d ranks, %s; the median of %d interleaved batches of at least 20 ms; the time is the "
        "slowest rank's\n",
        title.c_str(), o.ranks, o.transport.c_str(), o.rounds);
    printf("#%12s %12s %9s %14s %12s %8s %8s %7s", "size", "count", "type", "schedule", "time", "algbw",
           "membw", "#wrong");
    if (o.transport == "mpi") printf(" %12s", "sent");
    printf("\n#%12s %12s %9s %14s %12s %8s %8s %7s", "(B)", "(elements)", "", "", "(us)", "(GB/s)", "(GB/s)",
           "");
    if (o.transport == "mpi") printf(" %12s", "(B a rank)");
    printf("\n");
    fflush(stdout);
}

void print_row(const Row &row, const Options &o) {
    double t = row.time();
    printf(" %12lld %12lld %9s %14s %12.2f %8.2f %8.2f", static_cast<long long>(row.size),
           static_cast<long long>(row.count), o.type.c_str(), row.schedule.c_str(), t * 1e6,
           double(row.size) / t / 1e9, row.bytes_moved / t / 1e9);
    if (row.wrong < 0) printf(" %7s", "N/A");
    else printf(" %7lld", static_cast<long long>(row.wrong));
    if (o.transport == "mpi") printf(" %12.0f", row.sent);
    printf("\n");
    fflush(stdout);
}

void print_ratios(const std::vector<Row> &rows, const Options &o) {
    std::vector<std::string> schedules;
    bool peers = false, both = false;
    for (auto &s : o.schedules) {
        if (is_peer(s)) peers = true;
        else schedules.push_back(s);
        both |= s == "fused" && std::count(o.schedules.begin(), o.schedules.end(), "default");
    }
    if (!peers && !both) return;
    printf("#\n# the median over rounds of the ratios of times\n#%12s", "size");
    if (peers)
        for (auto &s : schedules) printf(" %15s", ("peer/" + s).c_str());
    if (both) printf(" %15s", "fused/default");
    printf("\n");
    for (int64_t size : o.sizes()) {
        printf(" %12lld", static_cast<long long>(size));
        std::vector<double> peer = peer_seconds(rows, size);
        for (auto &s : schedules) {
            const Row *row = find(rows, size, s);
            if (peers && row) printf(" %15.2f", median_ratio(peer, row->seconds));
        }
        const Row *fused = find(rows, size, "fused"), *unfused = find(rows, size, "default");
        if (both && fused && unfused) printf(" %15.2f", median_ratio(fused->seconds, unfused->seconds));
        printf("\n");
    }
    fflush(stdout);
}

void write_json(const std::vector<Row> &rows, const std::string &program, const Options &o) {
    nlohmann::ordered_json j;
    j["program"] = program;
    j["ranks"] = o.ranks;
    j["transport"] = o.transport;
    j["type"] = o.type;
    for (auto &row : rows) {
        nlohmann::ordered_json r;
        r["size"] = row.size;
        r["count"] = row.count;
        r["schedule"] = row.schedule;
        r["time_us"] = row.time() * 1e6;
        r["algbw_GBps"] = double(row.size) / row.time() / 1e9;
        r["membw_GBps"] = row.bytes_moved / row.time() / 1e9;
        if (row.wrong < 0) r["wrong"] = nullptr;
        else r["wrong"] = row.wrong;
        r["bytes_sent"] = row.sent;
        r["bytes_loaded"] = row.loaded;
        r["bytes_stored"] = row.stored;
        std::vector<double> peer = peer_seconds(rows, row.size);
        if (!peer.empty() && !is_peer(row.schedule)) r["peer_ratio"] = median_ratio(peer, row.seconds);
        const Row *unfused = find(rows, row.size, "default");
        if (unfused && row.schedule == "fused")
            r["over_default"] = median_ratio(row.seconds, unfused->seconds);
        for (double s : row.seconds) r["batches_us"].push_back(s * 1e6);
        j["rows"].push_back(r);
    }
    std::ofstream file(o.json);
    file << j.dump(2) << "\n";
    file.close();
    if (!file) throw std::runtime_error("cannot write " + o.json);
}

}  // namespace perf
