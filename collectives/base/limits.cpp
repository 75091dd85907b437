#include "collectives/base/limits.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "collectives/base/cgroup.h"
#include "collectives/base/error.h"

namespace stretto::runtime {

MoreDescriptors::MoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit most{before_.rlim_max, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
}

MoreDescriptors::~MoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

int MoreDescriptors::suffice(int more, const char *what) const {
    uint64_t needed = uint64_t(more);
    if (DIR *open = opendir("/proc/self/fd")) {
        while (readdir(open)) needed++;
        closedir(open);
    }
    if (needed <= before_.rlim_max) return STRETTO_OK;
    return set_error(STRETTO_SYSTEM, "%s need %" PRIu64 " open files in this process, and %" PRIu64 " are allowed (ulimit -n)",
                     what, needed, uint64_t(before_.rlim_max));
}

uint64_t largest_file() {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

uint64_t available_memory() {
    uint64_t kilobytes = UINT64_MAX / 1024;
    if (FILE *file = fopen("/proc/meminfo", "re")) {
        char line[128];
        while (fgets(line, sizeof line, file))
            if (sscanf(line, "MemAvailable: %" SCNu64, &kilobytes) == 1) break;
        fclose(file);
    }
    return uint64_t(std::min(double(kilobytes) * 1024, memory_left_in_groups()));
}

uint64_t host_memory() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)); }

}  // namespace stretto::runtime
