// What whoever runs this process has allowed it: open files, sizes of files, memory.
#pragma once
#include <sys/resource.h>

#include <cstdint>

namespace stretto::runtime {

// As many open files as this process may have at most, for as long as the object lives.
class MoreDescriptors {
public:
    MoreDescriptors();
    ~MoreDescriptors();
    MoreDescriptors(const MoreDescriptors &) = delete;
    MoreDescriptors &operator=(const MoreDescriptors &) = delete;

    // Can it open so many more? 0, or STRETTO_SYSTEM with the limit and `what` needs them.
    int suffice(int more, const char *what) const;

private:
    rlimit before_{};
};

// Bytes of the largest file that may be made (ulimit -f): a larger one would end the process by a signal.
uint64_t largest_file();

// Bytes of memory that may still be taken: of the host, and of this process's control groups. UINT64_MAX: not known.
uint64_t available_memory();

// Bytes of memory that the host has.
uint64_t host_memory();

}  // namespace stretto::runtime
