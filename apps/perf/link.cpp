#include "link.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace perf {
namespace {

[[noreturn]] void fail(const char *call) {
    throw std::runtime_error(std::string(call) + ": " + strerror(errno));
}

int make_socket() {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    return fd;
}

socklen_t address_of(const std::string &name, sockaddr_un *address) {
    *address = {};
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name.data(), name.size());
    return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

}  // namespace

Link::Link(const std::string &name) : fd_(make_socket()) {
    sockaddr_un address;
    socklen_t bytes = address_of(name, &address);
    if (connect(fd_, reinterpret_cast<sockaddr *>(&address), bytes) == 0) return;
    int error = errno;
    close(fd_);
    errno = error;
    fail("connect");
}

Link::~Link() {
    if (fd_ >= 0) close(fd_);
}

void Link::send_bytes(const void *data, size_t bytes) {
    for (auto *at = static_cast<const char *>(data); bytes;) {
        ssize_t done = ::send(fd_, at, bytes, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail("send");
        at += done;
        bytes -= size_t(done);
    }
}

bool Link::receive_bytes(void *data, size_t bytes) {
    for (auto *at = static_cast<char *>(data); bytes;) {
        ssize_t done = read(fd_, at, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        at += done;
        bytes -= size_t(done);
    }
    return true;
}

Listener::Listener(int most) : fd_(make_socket()) {
    uint64_t word = 0;
    if (getrandom(&word, sizeof word, 0) != sizeof word) fail("getrandom");
    name_ = "stretto-perf-" + std::to_string(word);
    sockaddr_un address;
    socklen_t bytes = address_of(name_, &address);
    if (bind(fd_, reinterpret_cast<sockaddr *>(&address), bytes) || listen(fd_, most)) fail("bind");
}

Listener::~Listener() { close(fd_); }

int Listener::accept(int milliseconds) {
    pollfd p{fd_, POLLIN, 0};
    return poll(&p, 1, milliseconds) > 0 ? accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC) : -1;
}

}  // namespace perf
