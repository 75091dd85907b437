// Another rank's process, as this one sees it.
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <cstdint>

#include "collectives/base/fd.h"

namespace stretto::runtime {

class Process {
public:
    // handle: a pidfd. It is this object's for as long as it is open: an application may close all descriptors.
    Process(Fd handle, int pid);
    ~Process();
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;

    int pid() const { return pid_; }
    // Null while it runs the program that it ran at first; else what has become of it: "has ended". One that is writing its
    // memory to a core file has ended, too. Any thread may ask.
    const char *fate() const;

private:
    // Of /proc: when it began, and where its first stack was, which no other program that it starts has; 0: not to be seen.
    struct Image {
        uint64_t begun = 0, stack = 0;
        char state = 0;
    };
    static Image image_of(int pid);
    bool has_handle() const;
    const char *look() const;

    Fd handle_;
    const int pid_;
    struct stat opened_ {};
    const Image first_;
    mutable std::atomic<const char *> fate_{nullptr};
    mutable std::atomic<double> looked_{0};
};

}  // namespace stretto::runtime
