// stretto_malloc between processes: limits of control groups, several ranks at once, alignment, memory that goes back.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "child.h"
#include "collectives/base/cgroup.h"
#include "collectives/memory/heap.h"
#include "collectives/memory/ranges.h"

using namespace stretto::test;
using namespace stretto::runtime;
namespace fs = std::filesystem;

namespace {

void put(const fs::path &path, const std::string &text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

// A control group below this process's own with a limit; empty if this user may make none.
class Group {
public:
    explicit Group(const char *limit) {
        std::ifstream file("/proc/self/cgroup");
        for (std::string line; std::getline(file, line);) {
            const size_t second = line.find(':', line.find(':') + 1);
            const bool v1 = line.find(":memory:") != std::string::npos;
            if (!v1 && line.compare(0, 3, "0::") != 0) continue;
            const std::string group = line.substr(second + 1);
            for (const std::string &above : {group, std::string("/")}) {
                folder_ = (v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup") + above;
                folder_ += "/stretto_test_" + std::to_string(getpid());
                std::error_code ignored;
                if (!fs::create_directory(folder_, ignored)) continue;
                std::ofstream out(folder_ + (v1 ? "/memory.limit_in_bytes" : "/memory.max"));
                if (out << limit << std::flush) return;
                rmdir(folder_.c_str());
            }
        }
        folder_.clear();
    }
    ~Group() {
        for (int i = 0; !folder_.empty() && rmdir(folder_.c_str()) != 0 && i < 100; i++) sleep_microseconds(10'000);
    }
    bool made() const { return !folder_.empty(); }
    // Runs there.
    std::vector<std::string> command(int ranks, const char *megabytes) const {
        std::vector<std::string> all{"sh", "-c", "echo $$ > " + folder_ + "/cgroup.procs; exec \"$@\"", "sh"};
        for (std::string &word : run_ranks(ranks, {"gulp", megabytes})) all.push_back(word);
        return all;
    }

private:
    std::string folder_;
};

}  // namespace

TEST_CASE("D6: limits of control groups of both versions, and of those above") {
    const fs::path folder = fs::temp_directory_path() / ("stretto_groups_" + std::to_string(getpid()));
    const Groups groups{folder / "self", folder / "mount"};
    put(groups.process, "5:cpu:/a\n4:memory:/a/b\n0::/\n");
    CHECK(memory_left_in_groups(groups) == unlimited);
    put(folder / "mount/memory/a/b/memory.limit_in_bytes", "9223372036854771712");
    put(folder / "mount/memory/a/b/memory.usage_in_bytes", "100");
    CHECK(memory_left_in_groups(groups) >= unlimited);
    put(folder / "mount/memory/a/memory.limit_in_bytes", "1000");
    put(folder / "mount/memory/a/memory.usage_in_bytes", "700");
    put(folder / "mount/memory/a/memory.stat", "cache 17\ntotal_inactive_file 50\n");
    CHECK(memory_left_in_groups(groups) == 350);
    put(groups.process, "0::/x/y\n");
    put(folder / "mount/x/y/memory.max", "max");
    put(folder / "mount/x/y/memory.current", "10");
    CHECK(memory_left_in_groups(groups) == unlimited);
    put(folder / "mount/x/memory.max", "2000");
    put(folder / "mount/x/memory.current", "2500");
    CHECK(memory_left_in_groups(groups) == 0);
    put(folder / "mount/memory.max", "40");
    put(folder / "mount/memory.current", "10");
    put(folder / "mount/x/memory.current", "500");
    CHECK(memory_left_in_groups(groups) == 30);
    fs::remove_all(folder);
}

TEST_CASE("D6: what the control group does not have is refused, also when several ranks take at once") {
    Group group("419430400");
    if (!group.made()) {
        printf("skipped here: this user may make no control group with a limit of memory\n");
        return;
    }
    Child one(group.command(2, "500"));
    for (const std::string &line : one.lines()) CHECK(line.find(" bytes: the host has ") != std::string::npos);
    CHECK(one.wait() == 0);
    Child four(group.command(4, "150"));
    const std::vector<std::string> lines = four.lines();
    auto is_served = [](const std::string &l) { return l.find("served") != std::string::npos; };
    const auto served = std::count_if(lines.begin(), lines.end(), is_served);
    CHECK(lines.size() == 4);
    CHECK(served >= 1);
    CHECK(served <= 2);
    CHECK(four.wait() == 0);
}

TEST_CASE("D6: alignment beyond a huge page, and large free ranges that go back to the host") {
    Child job(run_ranks(2, {"memory"}));
    std::vector<std::string> lines = job.lines();
    std::sort(lines.begin(), lines.end());
    CHECK(lines == std::vector<std::string>{"rank 0: fine", "rank 1: fine"});
    CHECK(job.wait() == 0);
}

TEST_CASE("D6: alignment is of addresses, whatever address a heap begins at") {
    Heap heap(1 << 20, 4096 + 64);
    heap.allocate(10, 64);
    for (uint64_t align : {64, 128, 4096, 65536}) CHECK((heap.allocate(100, align) + 4096 + 64) % align == 0);
}

TEST_CASE("D6: ranges of pages") {
    Ranges r;
    r.add(10, 20);
    r.add(30, 40);
    r.add(20, 30);
    CHECK(r.outside(0, 50) == std::vector<Ranges::Range>{{0, 10}, {40, 50}});
    r.remove(15, 18);
    r.remove(39, 60);
    CHECK(r.in(0, 50) == std::vector<Ranges::Range>{{10, 15}, {18, 39}});
    CHECK(r.in(16, 17).empty());
    CHECK(r.outside(12, 16) == std::vector<Ranges::Range>{{15, 16}});
    r.add(0, 100);
    CHECK(r.outside(0, 100).empty());
}
