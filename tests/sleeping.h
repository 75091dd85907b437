// Whether a thread of this process sleeps, as the kernel says: tests of waiting look at that, not at a clock.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

namespace stretto::test {

inline pid_t this_thread() { return pid_t(syscall(SYS_gettid)); }

// Waits until the thread, once there is one, sleeps; false when it has not for a minute.
inline bool falls_asleep(const std::atomic<pid_t> &thread) {
    for (int tries = 0; tries < 60'000; tries++) {
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
        std::string text;
        std::getline(file, text);
        size_t name_end = text.rfind(')');
        if (name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0) return true;
        usleep(1000);
    }
    return false;
}

}  // namespace stretto::test
