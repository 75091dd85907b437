// Whether a thread of this process sleeps, as the kernel says: tests of waiting look at that, not at a clock.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace stretto::test {

inline pid_t this_thread() { return pid_t(syscall(SYS_gettid)); }

inline bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    size_t name_end = text.rfind(')');
    return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

}  // namespace stretto::test
