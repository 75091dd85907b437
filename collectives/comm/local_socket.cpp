#include "collectives/comm/local_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <stretto/runtime.h>
#include "collectives/base/error.h"

namespace stretto::runtime {
namespace {

constexpr size_t most_descriptors = 4;

// Connecting to one whose queue is full would wait for ever.
Fd make_socket() { return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

socklen_t make_address(const std::string &name, sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = std::min(name.size(), sizeof address->sun_path - 1);
    memcpy(address->sun_path + 1, name.data(), length);  // a leading zero byte: an abstract name
    return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool connects(const Fd &socket, const std::string &name) {
    sockaddr_un address;
    socklen_t length = make_address(name, &address);
    return connect(socket.get(), reinterpret_cast<sockaddr *>(&address), length) == 0;
}

// At a name that is taken. Who has just taken it listens in a moment; a rank 0 takes who comes, so its queue is not full.
bool own_user_listens_at(const std::string &name) {
    for (int i = 0; i < 10; i++) {
        Fd fd = make_socket();
        if (connects(fd, name)) return is_own_user(fd);
        if (errno != ECONNREFUSED) return false;
        sleep_microseconds(1000);
    }
    return false;
}

int wait_for(const Fd &socket, short event, Deadline &deadline) {
    for (;;) {
        if (deadline.passed()) return STRETTO_TIMEOUT;
        pollfd p{socket.get(), event, 0};
        int ready = poll(&p, 1, deadline.nap_milliseconds());
        if (ready > 0) return STRETTO_OK;
        if (ready < 0 && errno != EINTR) return set_system_error("poll");
    }
}

}  // namespace

std::string name_of_try(const std::string &name, int i) { return i ? name + "-" + std::to_string(i) : name; }

int listen_at(const std::string &name, Fd *listener) {
    Fd fd = make_socket();
    if (!fd.valid()) return set_system_error("socket(AF_UNIX)");
    for (int i = 0; i < most_names; i++) {
        sockaddr_un address;
        socklen_t length = make_address(name_of_try(name, i), &address);
        if (bind(fd.get(), reinterpret_cast<sockaddr *>(&address), length) == 0) {
            if (listen(fd.get(), 1024) != 0) return set_system_error("listen");
            *listener = std::move(fd);
            return STRETTO_OK;
        }
        if (errno != EADDRINUSE) return set_system_error("bind to an abstract unix socket");
        if (own_user_listens_at(name_of_try(name, i)))
            return set_error(STRETTO_INVALID, "another process is rank 0 of this job already");
    }
    return set_error(STRETTO_SYSTEM, "another user listens at all %d names of this job's unix socket", most_names);
}

int connect_to(const std::string &name, Deadline &deadline, Fd *result) {
    for (long pause = 200;; pause = std::min(pause * 2, 20'000l)) {
        for (int i = 0; i < most_names; i++) {
            Fd fd = make_socket();
            if (!fd.valid()) return set_system_error("socket(AF_UNIX)");
            if (connects(fd, name_of_try(name, i))) {
                if (!is_own_user(fd)) continue;
                *result = std::move(fd);
                return STRETTO_OK;
            }
            if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
                return set_system_error("connect to an abstract unix socket");
        }
        if (deadline.passed()) return STRETTO_TIMEOUT;
        sleep_microseconds(pause);
    }
}

bool is_own_user(const Fd &socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int send_message(const Fd &socket, const void *data, size_t bytes, const std::vector<int> &descriptors,
                 Deadline &deadline) {
    iovec part{const_cast<void *>(data), bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        size_t length = descriptors.size() * sizeof(int);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(length);
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(length);
        memcpy(CMSG_DATA(header), descriptors.data(), length);
    }
    ssize_t sent;
    while ((sent = sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 && (errno == EAGAIN || errno == EINTR))
        if (int status = wait_for(socket, POLLOUT, deadline)) return status;
    return sent == ssize_t(bytes) ? STRETTO_OK : set_system_error("sendmsg to a rank of the job");
}

int receive_message(const Fd &socket, void *data, size_t bytes, size_t descriptors, std::vector<Fd> *received,
                    Deadline &deadline) {
    if (int status = wait_for(socket, POLLIN, deadline)) return status;
    iovec part{data, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got;
    do { got = recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC); } while (got < 0 && errno == EINTR);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return STRETTO_PEER_LOST;
    if (got < 0) return set_system_error("recvmsg from a rank of the job");
    std::vector<Fd> fds;
    for (cmsghdr *h = CMSG_FIRSTHDR(&message); h; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
            fds.emplace_back(fd);
        }
    }
    if (size_t(got) != bytes || fds.size() != descriptors) {
        return set_error(STRETTO_SYSTEM,
                         "a rank of the job sent %zd bytes and %zu descriptors where %zu and %zu belong "
                         "(another version of the runtime, or the limit on open files)",
                         got, fds.size(), bytes, descriptors);
    }
    if (received) *received = std::move(fds);
    return STRETTO_OK;
}

}  // namespace stretto::runtime
