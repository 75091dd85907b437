#include "collectives/world/process.h"

#include <poll.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "collectives/base/clock.h"

namespace stretto::runtime {
namespace {

constexpr double between_looks = 0.1;  // seconds; reading /proc takes 20 us, and there may be hundreds of processes

std::string text_of(int pid, const char *file) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

// It ends only when the dump is written, which may take minutes.
bool dumps_core(int pid) { return text_of(pid, "status").find("\nCoreDumping:\t1") != std::string::npos; }

}  // namespace

Process::Process(Fd handle, int pid) : handle_(std::move(handle)), pid_(pid), first_(image_of(pid)) {
    fstat(handle_.get(), &opened_);
}

Process::~Process() {
    if (!has_handle()) handle_.release();  // closed by others, and the number may be some other file's by now
}

bool Process::has_handle() const {
    struct stat now {};
    return fstat(handle_.get(), &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino;
}

// Fields 3, 22 and 28 of /proc/PID/stat; the name before them may have blanks and brackets.
Process::Image Process::image_of(int pid) {
    Image image;
    const std::string all = text_of(pid, "stat");
    const size_t after_name = all.rfind(')');
    if (after_name == std::string::npos) return image;
    std::istringstream fields(all.substr(after_name + 1));
    std::string field;
    for (int i = 3; i <= 28 && fields >> field; i++) {
        if (i == 3) image.state = field[0];
        if (i == 22) image.begun = std::stoull(field);
        if (i == 28) image.stack = std::stoull(field);
    }
    return image;
}

const char *Process::fate() const {
    if (!fate_.load())
        if (const char *found = look()) fate_.store(found);
    return fate_.load();
}

// kill(pid, 0) would call a zombie alive.
const char *Process::look() const {
    constexpr const char *ended = "has ended";
    pollfd p{handle_.get(), POLLIN, 0};
    if (poll(&p, 1, 0) > 0 && p.revents & POLLIN && has_handle()) return ended;
    const double now = rough_seconds_now();
    if (!first_.begun || now - looked_.load() < between_looks) return nullptr;
    looked_.store(now);
    const Image image = image_of(pid_);
    if (image.begun != first_.begun || strchr("ZX", image.state) || dumps_core(pid_)) return ended;
    return image.stack && first_.stack && image.stack != first_.stack ? "has started another program (exec)" : nullptr;
}

}  // namespace stretto::runtime
