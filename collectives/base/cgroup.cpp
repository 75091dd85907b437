#include "collectives/base/cgroup.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace stretto::runtime {
namespace {

// On the way from a group up to its root. What is mounted may be this process's group already, under the path of a root.
double least(const std::string &root, std::string group, GroupValue value) {
    double result = value(root);
    while (!group.empty() && group != "/") {
        result = std::min(result, value(root + group));
        group.resize(group.rfind('/'));
    }
    return result;
}

// "max", or no file: no limit.
double number_in(const std::string &path) {
    std::ifstream file(path);
    double number = 0;
    return file >> number ? number : unlimited;
}

// Of a table of names and numbers; 0 if it is not there.
double entry_of(const std::string &path, const std::string &name) {
    std::ifstream file(path);
    std::string key;
    for (double number; file >> key >> number;)
        if (key == name) return number;
    return 0;
}

double left(const std::string &folder, const char *limit_name, const char *used_name, const char *inactive_name) {
    const double limit = number_in(folder + limit_name), used = number_in(folder + used_name);
    if (limit >= unlimited || used >= unlimited) return unlimited;
    return std::max(0.0, limit - used + entry_of(folder + "/memory.stat", inactive_name));
}

double left_v1(const std::string &folder) {
    return left(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
}

double left_v2(const std::string &folder) { return left(folder, "/memory.max", "/memory.current", "inactive_file"); }

}  // namespace

double least_of_groups(const std::string &controller, GroupValue v1, GroupValue v2, const Groups &groups) {
    double result = unlimited;
    std::ifstream file(groups.process);
    std::string line;
    while (std::getline(file, line)) {  // "0::/group" or "4:cpu,cpuacct:/group"
        const size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (group.empty() || group[0] != '/') continue;
        if (controllers.empty()) result = std::min(result, least(groups.mount, group, v2));
        else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos)
            result = std::min(result, least(groups.mount + "/" + controllers, group, v1));
    }
    return result;
}

double memory_left_in_groups(const Groups &groups) { return least_of_groups("memory", left_v1, left_v2, groups); }

}  // namespace stretto::runtime
